"""Where the corpus of real recipes is, how its tables are read, and its plans."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from servesweep.migration.migrate import migrate_text
from servesweep.plan.configuration import Configuration
from servesweep.plan.plan import Plan
from servesweep.plan.render import render
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_recipe
from servesweep.recipe.variants import Variant, expand

# The functions that compare are plain modules beside the tests.
sys.path.insert(0, str(Path(__file__).parent))

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Directory of the corpus; absent it skips by name, and fails in CI."""
    directory = Path(os.environ.get("SERVESWEEP_CORPUS", REPOSITORY.parent / "shared" / "corpus"))
    if not directory.is_dir():
        message = f"corpus not found: {directory}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return directory


@pytest.fixture(scope="session")
def rows(corpus: Path) -> Callable[[str], list[dict[str, Any]]]:
    """Read one of the corpus's tables of JSON lines."""

    def read(name: str) -> list[dict[str, Any]]:
        with gzip.open(corpus / name, "rt") as lines:
            return [json.loads(line) for line in lines]

    return read


@dataclass(frozen=True)
class Planned:
    """One configuration: migrated, planned, and the reference's rows for it in the two tables."""

    name: str
    recipe: str
    variant: Variant
    plan: Plan
    row: dict[str, Any]
    placed: dict[str, Any]
    refused: str


@pytest.fixture(scope="session")
def planned(corpus: Path, rows: Callable[[str], list[dict[str, Any]]]) -> list[Planned]:
    """Every configuration of the v1 recipes, migrated and planned for a cluster with containers."""
    found = []
    places = {
        (row["recipe"], variant["suffix"]): variant
        for row in rows("placement.jsonl.gz")
        for variant in row["variants"]
    }
    for row in rows("commands.jsonl.gz"):
        text = (corpus / row["recipe"]).read_text()
        variants = expand(parse(migrate_text(text, row["recipe"]).text, row["recipe"]))
        answers = {variant["suffix"]: variant for variant in row["variants"]}
        assert {variant.suffix or "" for variant in variants} == set(answers), row["recipe"]
        for variant in variants:
            suffix = variant.suffix or ""
            plan, refused = plan_v1(variant, row["recipe"])
            placed = places[row["recipe"], suffix]
            name = f"{row['recipe']} {suffix}".strip()
            found.append(Planned(name, row["recipe"], variant, plan, answers[suffix], placed, refused))
    return found


def plan_v1(variant: Variant, recipe: str) -> tuple[Plan, str]:
    """Plan for a cluster as the corpus's README describes it; what was refused at first, if anything."""
    path = variant.data["model"]["path"]
    models = {} if path.startswith("hf:") else {path: f"/models/{path.rstrip('/').rpartition('/')[2]}"}
    cluster = Cluster.model_validate(
        {
            "container_runtime": "pyxis",
            "model_paths": models,
            "default_account": "default",
            "default_partition": "default",
            "default_time_limit": 24 * 60,
            "use_segment_sbatch_directive": True,
            "cpus_per_gpu": 6,
        }
    )
    try:
        return _render(variant, recipe, cluster), ""
    except RecipeError as error:
        # The reference notices the unknown type of two recipes when their load should begin.
        if "unknown benchmark 'gsm8k-bench'; did you mean gsm8k?" not in str(error):
            raise
        manual = replace(variant, data={**variant.data, "benchmark": {"type": "manual"}})
        return _render(manual, recipe, cluster), str(error)


def _render(variant: Variant, recipe: str, cluster: Cluster) -> Plan:
    return render(
        Configuration(
            id="c",
            recipe_file=recipe,
            variant=variant,
            recipe=read_recipe(variant),
            cluster=cluster,
            digest="0" * 16,
            deployment_digest="0" * 16,
        )
    )
