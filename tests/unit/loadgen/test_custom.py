"""The numbers that a command of one's own leaves: which count, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from servesweep.loadgen.custom import read_metrics


@pytest.mark.parametrize(
    ("text", "metrics", "reasons"),
    [
        ('{"answers_per_s": 12.5, "p99_ttft_ms": 30}', {"answers_per_s": 12.5, "p99_ttft_ms": 30}, []),
        ('{"a": "fast", "b": NaN}', {}, [f"metrics.json: {k} is not a finite number" for k in "ab"]),
        ("[1]", {}, ["metrics.json is not a JSON object"]),
    ],
)
def test_metrics(tmp_path: Path, text: str, metrics: dict[str, float], reasons: list[str]) -> None:
    path = tmp_path / "metrics.json"
    path.write_text(text)
    assert read_metrics(path) == (metrics, reasons)


def test_without_a_file_there_are_none(tmp_path: Path) -> None:
    assert read_metrics(tmp_path / "metrics.json") == ({}, [])
