"""The command `servesweep plan`: recipes planned on the spot, or the plans below a directory of results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.default_cluster import default_cluster
from servesweep.plan.node_map import describe
from servesweep.plan.plan import Plan
from servesweep.plan.plan_object import plan_object
from servesweep.plan.plan_page import plan_page
from servesweep.plan.preflight import preflight
from servesweep.plan.recipe_files import find_recipes
from servesweep.plan.sweep import read_what_can_be_read
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


def plan_files(
    words: tuple[str, ...], cluster_file: str | None, settings: tuple[str, ...]
) -> tuple[list[Plan], list[Problem]]:
    """Plan recipe files, in order; without a cluster file by that of the workflow, else by built-in values.

    Returns:
        the plans of the files without a fault, and every problem of the others.

    Raises:
        RecipeError: for a name that matches nothing, or a cluster file with faults.
    """
    cluster_file = cluster_file or default_cluster()
    cluster = read_cluster(cluster_file) if cluster_file else Cluster()
    plans, problems = read_what_can_be_read(find_recipes(words), cluster, RECIPE_ROOT, settings)
    return list(plans.values()), problems


@dataclass(frozen=True, slots=True)
class Told:
    """What the terminal gets about one configuration, and whether validation would refuse it."""

    text: str
    refused: list[str]


def told(plan: Plan, form: Form, *, look: bool = True) -> Told:
    """A configuration as an object, a page, or the node map alone; `look` as in `preflight`."""
    refused = [_without_file(problem) for problem in preflight(plan, look=look)]
    match form:
        case "object":
            text = json.dumps(plan_object(plan, refused), ensure_ascii=False)
        case "page":
            text = plan_page(plan, refused) + "\n"
        case "brief":
            text = describe(plan, refused) + "\n"
    return Told(text, refused)


def refusal_lines(refused: list[list[str]]) -> Iterator[str]:
    """How many of all configurations would be refused, and each reason with how often it is one."""
    count = sum(map(bool, refused))
    if not count:
        return
    yield f"{count} of {len(refused)} would be refused by validation"
    for reason, times in Counter(reason for reasons in refused for reason in reasons).most_common():
        yield f"  {times} x {reason}"


def note_lines(plans: Collection[Plan]) -> Iterator[str]:
    """How many of all configurations have notes, and each note with how often it is one."""
    count = sum(bool(plan.notes) for plan in plans)
    if not count:
        return
    yield f"notes on {count} of {len(plans)} configurations; `snakemake plan` shows which"
    for note, times in Counter(note for plan in plans for note in plan.notes).most_common():
        yield f"  {times} x {note}"


def _without_file(problem: Problem) -> str:
    return str(replace(problem, file=""))
