"""One results directory, several selections of recipes: the tables tell of the latest one alone."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

NOTHING = "Nothing to be done"


@pytest.fixture
def two(quick: Any) -> Any:
    """Beside the recipe `quick` a second one, `other`, of the same load."""
    text = (quick.project.root / "config/recipes/quick.yaml").read_text()
    quick.project.write("config/recipes/other.yaml", json.dumps(json.loads(text) | {"name": "other"}))
    return quick


def sweep(two: Any, names: str, *more: str) -> str:
    """Run a sweep of these recipes to its end, quietly; returns the configurations of the table."""
    recipes = ",".join(f"config/recipes/{name}.yaml" for name in names.split())
    done = two.project.snakemake("-q", "all", "--config", f"recipes={recipes}", *more)
    assert done.returncode == 0, done.stdout
    return " ".join(dict.fromkeys(row["configuration"] for row in rows(two)))


def rows(two: Any) -> list[dict[str, str]]:
    with (two.project.root / "results/summary.csv").open() as table:
        return list(csv.DictReader(table))


def test_the_tables_are_of_what_was_selected_last(two: Any) -> None:
    assert sweep(two, "quick") == "quick"
    first = two.kept("points/*/*")
    assert sweep(two, "other") == "other"
    assert sweep(two, "quick") == "quick"
    assert two.kept("points/*/*") == first
    again = two.project.snakemake("--config", "recipes=config/recipes/quick.yaml")
    assert NOTHING in again.stdout


def test_a_price_in_another_cluster_file_is_told_by_the_next_sweep(two: Any) -> None:
    assert sweep(two, "quick") == "quick"
    assert {row["cost_usd_per_million_output_tokens"] for row in rows(two)} == {""}
    site = (two.project.root / "config/local.yaml").read_text()
    two.project.write("config/priced.yaml", f"{site}\ngpu_hour_price: {{virtual: 2.0}}\n")
    before = two.kept("points/*/*")
    assert sweep(two, "quick", "cluster=config/priced.yaml") == "quick"
    assert two.kept("points/*/*") == before
    assert all(float(row["cost_usd_per_million_output_tokens"]) > 0 for row in rows(two))


@pytest.mark.long
def test_snakemakes_own_report_is_of_no_other_selection(two: Any) -> None:
    assert sweep(two, "quick") == "quick"
    quick, other = (f"recipes=config/recipes/{name}.yaml" for name in ("quick", "other"))
    done = two.project.snakemake("--report", "own.html", "--config", quick)
    assert done.returncode == 0, done.stdout
    done = two.project.snakemake("--report", "other.html", "--config", other)
    assert done.returncode == 1
    assert "results/summary.csv: it tells of quick, which is not in this sweep; " in done.stdout
    assert "Traceback" not in done.stdout
    assert not (two.project.root / "other.html").exists()
    assert two.project.snakemake("report", "-q", "all", "--config", other).returncode == 0
    done = two.project.snakemake("--report", "other.html", "--config", other)
    assert done.returncode == 0, done.stdout
