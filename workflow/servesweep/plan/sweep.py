"""The sweep: every configuration of the recipes that were named, or every problem of them at once."""

from __future__ import annotations

import contextlib
import gc
import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from servesweep.benchmarks import BENCHMARKS
from servesweep.migration.mixed import in_v2_words
from servesweep.plan.asked import asked
from servesweep.plan.configuration import (
    Configuration,
    SiteFacts,
    configuration_id,
    digests,
    facts_of,
)
from servesweep.plan.containers import setup_script_of
from servesweep.plan.judging import plan_configuration
from servesweep.plan.locked import Locked, in_place, locked
from servesweep.plan.plan import Plan
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.section_rules import section_problems
from servesweep.plan.site_rules import site_problems
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import Problem, RecipeError
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.secret_names import may_hold_secrets
from servesweep.recipe.secrets import hidden, is_secret_setting
from servesweep.recipe.selecting import select
from servesweep.recipe.source import Document, FaultyDocumentError, load
from servesweep.recipe.validation import read_recipe, read_section
from servesweep.recipe.variants import Variant, expand, set_value

SECRET_SETTING = (
    "a secret on the command line stands in logs and lists of processes: set a variable, and write ${NAME}"
)


def read_cluster(path: str, secrets: bool = False) -> Cluster:
    """Read the cluster file, without the values of its secrets if these are not asked for.

    Raises:
        RecipeError: where it is missing or has a fault; an unknown key is one.
    """
    document = load(path)
    data = document.data if secrets else hidden(document.data)
    variant = Variant(suffix=None, data=data, lines=document.lines, notes=(), path=document.path)
    cluster = read_section(Cluster, data, variant, ())
    if problems := site_problems(cluster, variant):
        raise RecipeError(problems)
    return cluster


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
    document, problems = _document(recipe.path)
    unusable = tuple(problems)
    lock = locked(document)
    lock = in_place(lock, recipe.path, results) if lock else None
    settings, facts = (*(lock.settings if lock else ()), *settings), facts or facts_of(cluster)
    secretive = bool(settings) or may_hold_secrets(document.text)
    planned: list[tuple[Configuration, Plan]] = []
    for variant in _variants(document, recipe.selector, problems, lock):
        given: Variant | None = None
        try:
            given = _with_settings(variant, settings)
            given = replace(given, data=hidden(given.data)) if secretive else given
            configuration = _configuration(recipe, given, cluster, facts, root, lock)
            plan = plan_configuration(configuration, tuple(settings))
            planned.append((configuration, lock.noted(plan) if lock else plan))
        except RecipeError as error:
            found = [*error.problems, *(section_problems(given) if given else ())]
            fresh = (problem for problem in found if not _follows(problem, unusable))
            problems += [_where_it_was_set(problem, settings) for problem in fresh]
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


def _document(path: str) -> tuple[Document, list[Problem]]:
    """A file without the keys and values that cannot be used, and what is wrong with these."""
    try:
        return load(path), []
    except FaultyDocumentError as error:
        return error.document, list(error.problems)


def recipe_of(path: str, plan: Plan, cluster: Cluster) -> Recipe:
    """The recipe that a plan was made from, as its file is now, with its secrets.

    Raises:
        RecipeError: where the file is gone, or has no such configuration any more.
    """
    variant = _variants_by_suffix(path, _changed(path)).get(plan.variant)
    if variant is None:
        raise RecipeError([Problem(path, None, "", f"there is no configuration {plan.configuration}")])
    return _with_site_defaults(read_recipe(_with_settings(variant, plan.settings)), cluster)


def _changed(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


# A file may have thousands of variants, each of which is asked for.
@lru_cache(maxsize=4)
def _variants_by_suffix(path: str, changed: int) -> dict[str | None, Variant]:
    document, problems = _document(path)
    found = _variants(document, None, problems)
    if isinstance(document.data.get("base"), dict):
        found += _variants(document, "base", problems)
    return {variant.suffix: variant for variant in reversed(found)}


def _variants(
    document: Document, selector: str | None, problems: list[Problem], lock: Locked | None = None
) -> list[Variant]:
    """The chosen variants in v2's words; where there are none, the reason beside the problems so far."""
    try:
        document, notes = in_v2_words(document)
        document = _without_lock(document)
        if lock is not None:
            variants = lock.variants(document)
        else:
            variants = select(document, selector) if selector else expand(document)
    except RecipeError as error:
        raise RecipeError([*problems, *error.problems]) from None
    return [replace(one, notes=(*notes, *one.notes)) for one in variants] if notes else variants


def _without_lock(document: Document) -> Document:
    """A lockfile is its recipe again."""
    return replace(document, data={key: value for key, value in document.data.items() if key != "lock"})


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
    return problems


def _with_settings(variant: Variant, settings: Iterable[str]) -> Variant:
    data: dict[str, Any] = variant.data
    for assignment in settings:
        if is_secret_setting(assignment):
            key = assignment.partition("=")[0].strip()
            raise RecipeError([Problem("set", None, key, SECRET_SETTING)])
        try:
            data = set_value(data, assignment)
        except ValueError as error:
            raise RecipeError([Problem("set", None, "", str(error))]) from None
    return replace(variant, data=data)


def _where_it_was_set(problem: Problem, settings: Iterable[str]) -> Problem:
    """A fault of a value from the command line is not one of the file's line."""
    for assignment in settings:
        key = assignment.partition("=")[0].strip()
        below = problem.key == key or problem.key.startswith((f"{key}.", f"{key}["))
        # What a setting removed, or a section that it made, is told of what was around it.
        if below or key.startswith(f"{problem.key}."):
            return replace(problem, line=None, message=f"{problem.message} (set on the command line)")
    return problem


def _configuration(
    recipe: RecipeFile,
    variant: Variant,
    cluster: Cluster,
    facts: SiteFacts,
    root: Path,
    lock: Locked | None,
) -> Configuration:
    model = _with_site_defaults(read_recipe(variant), cluster)
    files = _named_files(model)
    own, deployment = digests(model, cluster, facts, files)
    return Configuration(
        id=lock.configuration if lock else configuration_id(recipe.path, root, variant.suffix),
        recipe_file=lock.recipe if lock else recipe.path,
        variant=variant,
        recipe=model,
        cluster=cluster,
        digest=own,
        deployment_digest=deployment,
    )


def _with_site_defaults(recipe: Recipe, cluster: Cluster) -> Recipe:
    """Fill in the sections that a recipe does not have and the cluster file has a default for."""
    defaults = {"health_check": cluster.default_health_check, "host_setup": cluster.default_host_setup}
    update = {k: v for k, v in defaults.items() if v is not None and k not in recipe.model_fields_set}
    return recipe.model_copy(update=update) if update else recipe


def _named_files(recipe: Recipe) -> dict[str, str]:
    """Digests of the files that the recipe names; wrong options are told when the plan is rendered."""
    script = setup_script_of(recipe)
    found = [script] if script else []
    benchmark = BENCHMARKS.get(recipe.benchmark.type)
    if benchmark is not None:
        with contextlib.suppress(ValidationError):
            found += benchmark.files(asked(recipe.benchmark).options)
    return {path: file_digest(path) for path in found}


@cache
def file_digest(path: str) -> str:
    """SHA-256 of a file's content; empty where there is no such file on this machine."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""
