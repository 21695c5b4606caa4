"""From a variant to a configuration, with its identities; and back to its recipe as the file is now."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from pydantic import ValidationError

from servesweep.benchmarks import BENCHMARKS
from servesweep.migration.mixed import in_v2_words
from servesweep.plan.asked import asked
from servesweep.plan.configuration import Configuration, SiteFacts, digests
from servesweep.plan.configuration_id import configuration_id
from servesweep.plan.containers import setup_script_of
from servesweep.plan.locked import Locked
from servesweep.plan.plan import Plan
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.settings import with_settings
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import Problem, RecipeError
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.selecting import select
from servesweep.recipe.source import Document, FaultyDocumentError, load
from servesweep.recipe.validation import read_recipe
from servesweep.recipe.variants import Variant, expand


def document_of(path: str) -> tuple[Document, list[Problem]]:
    """A file without the keys and values that cannot be used, and what is wrong with these."""
    try:
        return load(path), []
    except FaultyDocumentError as error:
        return error.document, list(error.problems)


def variants_of_file(
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
    if "lock" not in document.data:
        return document
    return replace(document, data={key: value for key, value in document.data.items() if key != "lock"})


def configuration_of(
    recipe: RecipeFile,
    variant: Variant,
    cluster: Cluster,
    facts: SiteFacts,
    root: Path,
    lock: Locked | None,
) -> Configuration:
    """Read a variant, and give it its name and identities.

    Raises:
        RecipeError: with every problem of its sections.
    """
    model = with_site_defaults(read_recipe(variant), cluster)
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


def with_site_defaults(recipe: Recipe, cluster: Cluster) -> Recipe:
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


def recipe_of(path: str, plan: Plan, cluster: Cluster) -> Recipe:
    """The recipe that a plan was made from, as its file is now, with its secrets.

    Raises:
        RecipeError: where the file is gone, or has no such configuration any more.
    """
    variant = _variants_by_suffix(path, _changed(path)).get(plan.variant)
    if variant is None:
        raise RecipeError([Problem(path, None, "", f"there is no configuration {plan.configuration}")])
    return with_site_defaults(read_recipe(with_settings(variant, plan.settings)), cluster)


def _changed(path: str) -> int:
    try:
        return Path(path).stat().st_mtime_ns
    except OSError:
        return 0


# A file may have thousands of variants, each of which is asked for.
@lru_cache(maxsize=4)
def _variants_by_suffix(path: str, changed: int) -> dict[str | None, Variant]:
    document, problems = document_of(path)
    found = variants_of_file(document, None, problems)
    if isinstance(document.data.get("base"), dict):
        found += variants_of_file(document, "base", problems)
    return {variant.suffix: variant for variant in reversed(found)}
