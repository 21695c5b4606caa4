"""The command `servesweep plan`: recipes planned on the spot, or the plans below a directory of results."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from servesweep.plan.node_map import describe
from servesweep.plan.plan import Plan
from servesweep.plan.plan_object import plan_object
from servesweep.plan.plan_page import plan_page
from servesweep.plan.preflight import preflight
from servesweep.plan.sweep import find_recipes, read_cluster, read_sweep
from servesweep.plan.table import RECIPE_ROOT
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import Problem

Form = Literal["object", "page", "brief"]


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


@dataclass(frozen=True, slots=True)
class Told:
    """What the terminal gets about one configuration, and whether validation would refuse it."""

    text: str
    refused: bool


def told(plan: Plan, form: Form) -> Told:
    """A configuration as an object, a page, or the node map alone."""
    refused = [_without_file(problem) for problem in preflight(plan)]
    match form:
        case "object":
            text = json.dumps(plan_object(plan, refused), ensure_ascii=False)
        case "page":
            text = plan_page(plan, refused) + "\n"
        case "brief":
            text = describe(plan, refused) + "\n"
    return Told(text, bool(refused))


def _without_file(problem: Problem) -> str:
    return str(replace(problem, file=""))
