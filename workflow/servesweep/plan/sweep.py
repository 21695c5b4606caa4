"""The sweep: every configuration of the recipes that were named, or every problem of them at once."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from servesweep.plan.configuration import (
    Configuration,
    SiteFacts,
    facts_of,
)
from servesweep.plan.judging import plan_configuration
from servesweep.plan.locked import in_place, locked
from servesweep.plan.plan import Plan
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.resolving import configuration_of, document_of, variants_of_file
from servesweep.plan.section_rules import section_problems
from servesweep.plan.settings import where_it_was_set, with_settings
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.grid_faults import told_once
from servesweep.recipe.grid_values import GridValue
from servesweep.recipe.problems import Problem, RecipeError
from servesweep.recipe.secret_names import may_hold_secrets
from servesweep.recipe.secrets import hidden
from servesweep.recipe.variants import Variant

# What lies in results/ beside the directories of configurations.
FILES_OF_RESULTS = frozenset(
    {"summary.csv", "summary.parquet", "report.html", "sweep.json", "plan.log", "report.log", "summarize.log"}
    | {f"{chart}.{kind}" for chart in ("pareto", "latency", "throughput") for kind in ("svg", "png")}
)


def read_recipe_file(
    recipe: RecipeFile,
    cluster: Cluster,
    root: Path,
    settings: Iterable[str] = (),
    results: Path | None = None,
    facts: SiteFacts | None = None,
) -> list[tuple[Configuration, Plan]]:
    """Every configuration of one file with its plan; of a lockfile the one that it is of.

    A lockfile that a run has written below `results` is planned under a name of its own. `facts` are those of
    `facts_of(cluster)`, for who reads many files.

    Raises:
        RecipeError: with every problem of every variant, and for a lockfile that was changed.
    """
    document, problems = document_of(recipe.path)
    unusable = tuple(problems)
    lock = locked(document)
    lock = in_place(lock, recipe.path, results) if lock else None
    settings, facts = (*(lock.settings if lock else ()), *settings), facts or facts_of(cluster)
    secretive = bool(settings) or may_hold_secrets(document.text)
    planned: list[tuple[Configuration, Plan]] = []
    faults: list[tuple[tuple[GridValue, ...], Problem]] = []
    for variant in variants_of_file(document, recipe.selector, problems, lock):
        given: Variant | None = None
        try:
            given = with_settings(variant, settings)
            given = replace(given, data=hidden(given.data)) if secretive else given
            configuration = configuration_of(recipe, given, cluster, facts, root, lock)
            plan = plan_configuration(configuration, tuple(settings))
            planned.append((configuration, lock.noted(plan) if lock else plan))
        except RecipeError as error:
            found = [*error.problems, *(section_problems(given) if given else ())]
            fresh = (problem for problem in found if not _follows(problem, unusable))
            faults += [(variant.values, where_it_was_set(problem, settings)) for problem in fresh]
    problems += told_once(faults)
    if problems:
        raise RecipeError(problems)
    return planned


def _follows(problem: Problem, unusable: Iterable[Problem]) -> bool:
    """Whether a fault may come of a value that could not be used: of its key, below a base too, or line."""
    return any(
        problem.line == one.line or f".{one.key}".endswith(f".{problem.key}")
        for one in unusable
        if problem.key
    )


def read_sweep(
    recipes: list[RecipeFile],
    cluster: Cluster,
    root: Path,
    settings: Iterable[str] = (),
    results: Path | None = None,
    sources: dict[str, str] | None = None,
) -> dict[str, Plan]:
    """The plans of all recipes by configuration id; `sources` grows by the file of each.

    Raises:
        RecipeError: with the problems of all files together.
    """
    plans, problems = read_what_can_be_read(recipes, cluster, root, settings, results, sources)
    if problems:
        raise RecipeError(problems)
    return plans


def read_what_can_be_read(
    recipes: list[RecipeFile],
    cluster: Cluster,
    root: Path,
    settings: Iterable[str] = (),
    results: Path | None = None,
    sources: dict[str, str] | None = None,
) -> tuple[dict[str, Plan], list[Problem]]:
    """The plans of the files without a fault by configuration id, and every problem of the others."""
    plans: dict[str, Plan] = {}
    problems: list[Problem] = []
    files = {} if sources is None else sources
    facts = facts_of(cluster)
    with rare_collections():
        for recipe in recipes:
            try:
                found = read_recipe_file(recipe, cluster, root, settings, results, facts)
            except RecipeError as error:
                problems += error.problems
            else:
                problems += _add(plans, files, recipe, found)
    return plans, list(dict.fromkeys(problems))


@contextmanager
def rare_collections() -> Iterator[None]:
    """Plans hold no cycles: looking for some in thousands of them would take a fifth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(2_000_000, *before[1:])
    try:
        yield
    finally:
        # The plans stay: the next collection, which would follow at once, need not look through them either.
        gc.freeze()
        gc.set_threshold(*before)


def _add(
    plans: dict[str, Plan],
    sources: dict[str, str],
    recipe: RecipeFile,
    found: Iterable[tuple[Configuration, Plan]],
) -> list[Problem]:
    """Add the plans of one file; what is wrong with its names beside the others'."""
    problems = []
    for configuration, plan in found:
        plans.setdefault(configuration.id, plan)
        first = sources.setdefault(configuration.id, recipe.path)
        # Selectors of one file may overlap; two files may not give one name.
        if first != recipe.path:
            message = f"gives {configuration.id}, as {first} does: rename one of the files"
            problems.append(Problem(recipe.path, None, "", message))
        if configuration.id in FILES_OF_RESULTS:
            message = f"gives {configuration.id}, and the results have a file of that name: rename it"
            problems.append(Problem(recipe.path, None, "", message))
    return problems
