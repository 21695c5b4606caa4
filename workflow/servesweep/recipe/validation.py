"""From data with positions to a Recipe, or to every problem of it at once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from servesweep.recipe.explaining import allows_nothing, explain, model_in
from servesweep.recipe.problems import KeyPath, Problem, RecipeError, in_order, nearest
from servesweep.recipe.recipe import REPLICAS_ONLY, SCHEMA, Recipe
from servesweep.recipe.variants import Variant

M = TypeVar("M", bound=BaseModel)

# The sections that rules of the whole recipe speak about, and values for those that every recipe has.
SPANNED = {"roles", "replicas", "engine", "frontend", "services", *REPLICAS_ONLY}
BLOCKS = (dict, list)
STAND_INS = {"schema": SCHEMA, "name": "-", "model": {"path": "-", "precision": "-"}}


def read_recipe(variant: Variant) -> Recipe:
    """Validate one variant.

    Raises:
        RecipeError: with one problem for each fault, each with file, line and key, those of the block that
            the variant comes from among them.
    """
    problems = list(variant.faults)
    try:
        if variant.data or not problems:
            recipe = read_section(Recipe, variant.data, variant, ())
    except RecipeError as error:
        problems += [*error.problems, *_spanning(variant, error.problems)]
    if problems:
        raise RecipeError(in_order(problems))
    return recipe


def _spanning(variant: Variant, told: Iterable[Problem]) -> tuple[Problem, ...]:
    """Faults between sections, where those that are at fault have no part in them."""
    faulty = {problem.key.partition(".")[0].partition("[")[0] for problem in told}
    if faulty & SPANNED or not faulty <= Recipe.model_fields.keys() | {"schema"}:
        return ()
    whole = {key: value for key, value in variant.data.items() if key not in faulty}
    try:
        read_section(Recipe, {**STAND_INS, **whole}, variant, ())
    except RecipeError as error:
        return error.problems
    return ()


def read_section(
    model: type[M], data: Any, variant: Variant, prefix: KeyPath, beside: Iterable[str] = ()
) -> M:
    """Validate `data`, which stands at `prefix` in the variant, against one model.

    Keys that stand `beside` the model's in the file are not in `data`, and may be meant by a misspelt one.

    Raises:
        RecipeError: with one problem for each key at fault.
    """
    empty: list[KeyPath] = []
    _look_for_nothing(model, data, prefix, empty)
    problems: dict[KeyPath, Problem] = {
        at: variant.problem(at, "the key has no value: write one, or remove the key") for at in empty
    }
    try:
        section = model.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
        unknown = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
        for detail in details:
            if detail["type"] == "missing" and _misspelt(detail["loc"], unknown):
                continue
            at = _path(variant, prefix, detail)
            # Whatever else is said about a key without a value, or about what holds it, follows from that.
            if not any(at[: len(path)] == path or path[: len(at)] == at for path in empty):
                problems[at] = variant.problem(at, explain(model, detail, beside, of_recipe=model is Recipe))
    else:
        if not problems:
            return section
    raise RecipeError(in_order(problems.values()))


def _misspelt(missing: KeyPath, unknown: Iterable[KeyPath]) -> bool:
    """Whether one of the unknown keys beside a missing one is probably it: then it is told alone."""
    beside = (str(loc[-1]) for loc in unknown if loc[:-1] == missing[:-1])
    return any(nearest(name, [str(missing[-1])]) for name in beside)


def _look_for_nothing(model: type[BaseModel], data: Any, at: KeyPath, empty: list[KeyPath]) -> None:
    """Add the keys of sections that have no value: a forgotten one must not pass as the default."""
    if isinstance(data, list):
        for index, item in enumerate(data):
            _look_for_nothing(model, item, (*at, index), empty)
    if not isinstance(data, dict):
        return
    keys = _keys(model)
    for key, value in data.items():
        if value is None:
            if key in keys and not keys[key][0]:
                empty.append((*at, key))
        elif value.__class__ in BLOCKS and key in keys and (inner := keys[key][1]) is not None:
            _look_for_nothing(inner, value, (*at, key), empty)


@cache
def _keys(model: type[BaseModel]) -> dict[str, tuple[bool, type[BaseModel] | None]]:
    """Of each key of a model whether null says something, and the model below it."""
    return {
        field.alias or name: (allows_nothing(field), model_in(field.annotation))
        for name, field in model.model_fields.items()
    }


def _path(variant: Variant, prefix: KeyPath, detail: ErrorDetails) -> KeyPath:
    """The key path of a fault in the file."""
    below: KeyPath = detail.get("ctx", {}).get("at", ())
    loc = _real_path(variant.data, (*prefix, *detail["loc"]))
    if detail["type"] == "missing":
        loc = (*_real_path(variant.data, (*prefix, *detail["loc"][:-1])), detail["loc"][-1])
    return (*loc, *below)


def _real_path(data: Any, loc: KeyPath) -> KeyPath:
    """Drop from pydantic's location what the file does not have (names of union members, `[key]`)."""
    path: list[str | int] = []
    here: Any = data
    for step in loc:
        known = (
            step in here if isinstance(here, dict) else isinstance(here, list) and step in range(len(here))
        )
        if known:
            here = here[step]
        elif step != loc[-1] or step == "[key]" or not isinstance(here, dict):
            continue
        path.append(step)
    return tuple(path)
