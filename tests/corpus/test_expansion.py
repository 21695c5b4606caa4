"""Every real recipe is read, and expands into the variants that the reference finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from servesweep.recipe.source import load
from servesweep.recipe.variants import expand


def test_variants_have_the_reference_s_suffixes_and_names(
    corpus: Path, rows: Callable[[str], list[dict[str, Any]]]
) -> None:
    count = 0
    for row in rows("placement.jsonl.gz"):
        variants = expand(load(corpus / row["recipe"]))
        expected = sorted((variant["suffix"], variant["name"]) for variant in row["variants"])
        assert sorted((v.suffix or "", v.data["name"]) for v in variants) == expected, row["recipe"]
        assert not any(v.notes for v in variants), row["recipe"]
        count += len(variants)
    assert count == 492


def test_recipes_of_the_second_schema_are_read(corpus: Path) -> None:
    files = sorted((corpus / "v2").rglob("*.yaml"))
    assert len(files) == 20
    suffixes = {file.name: [v.suffix for v in expand(load(file))] for file in files}
    assert suffixes["override.yaml"] == ["tp2", "context_0", "context_1"]
    assert suffixes["sweep.yaml"] == [
        f"concurrency{c}_max_running_requests{m}" for c in (4, 8) for m in (16, 64)
    ]
