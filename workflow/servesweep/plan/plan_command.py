"""The command `servesweep plan`: recipes planned on the spot, or the plans below a directory of results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from servesweep.plan.plan import Plan
from servesweep.plan.plan_object import plan_object
from servesweep.plan.plan_page import plan_page, summary_line
from servesweep.plan.sweep import find_recipes, read_cluster, read_sweep
from servesweep.plan.table import RECIPE_ROOT
from servesweep.recipe.cluster import Cluster


def is_results(words: tuple[str, ...]) -> bool:
    """Whether the words name a directory of results, which holds plans, and not recipes."""
    if len(words) != 1:
        return not words
    directory = Path(words[0])
    return directory.is_dir() and (
        next(directory.glob("*/plan.json"), None) is not None
        or next((p for p in directory.rglob("*.y*ml")), None) is None
    )


def plan_files(words: tuple[str, ...], cluster_file: str | None, settings: tuple[str, ...]) -> list[Plan]:
    """Plan recipe files, in order; without a cluster file by the built-in defaults.

    Raises:
        RecipeError: with every problem of every file.
    """
    cluster = read_cluster(cluster_file) if cluster_file else Cluster()
    return list(read_sweep(find_recipes(words), cluster, RECIPE_ROOT, settings).values())


def told(plans: list[Plan], as_json: bool) -> Iterator[str]:
    """Lines for the terminal: an object each, or pages and what they ask for together."""
    for plan in plans:
        yield json.dumps(plan_object(plan), ensure_ascii=False) if as_json else plan_page(plan) + "\n"
    if not as_json:
        yield summary_line(plans)
