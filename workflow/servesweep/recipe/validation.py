"""From data with positions to a Recipe, or to every problem of it at once."""

from __future__ import annotations

import types
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from servesweep.recipe.problems import KeyPath, Problem, RecipeError, nearest
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.variants import Variant

M = TypeVar("M", bound=BaseModel)

EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
}


def read_recipe(variant: Variant) -> Recipe:
    """Validate one variant.

    Raises:
        RecipeError: with one problem for each fault, each with file, line and key.
    """
    return read_section(Recipe, variant.data, variant, ())


def read_section(model: type[M], data: Any, variant: Variant, prefix: KeyPath) -> M:
    """Validate `data`, which stands at `prefix` in the variant, against one model."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = [_problem(model, detail, variant, prefix) for detail in error.errors(include_url=False)]
        raise RecipeError(dict.fromkeys(problems)) from None


def _problem(model: type[BaseModel], detail: ErrorDetails, variant: Variant, prefix: KeyPath) -> Problem:
    path = _real_path(variant.data, (*prefix, *detail["loc"]))
    return variant.problem(path, _message(model, detail))


def _real_path(data: Any, loc: KeyPath) -> KeyPath:
    """Drop from pydantic's location what the file does not have (names of union members, `[key]`)."""
    path: list[str | int] = []
    here = data
    for step in loc:
        if (isinstance(here, dict) and step in here) or (
            isinstance(here, list) and isinstance(step, int) and step < len(here)
        ):
            here = here[step]
        elif step != loc[-1] or step == "[key]" or not isinstance(here, dict):
            continue
        path.append(step)
    return tuple(path)


def _message(model: type[BaseModel], detail: ErrorDetails) -> str:
    kind, value = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        siblings = _fields_at(model, detail["loc"][:-1])
        guess = nearest(str(detail["loc"][-1]), siblings)
        return "unknown key" + (
            f"; did you mean {guess}?" if guess else f"; known here: {', '.join(sorted(siblings))}"
        )
    if kind == "missing":
        return "required key is missing"
    if kind in EXPECTED:
        return f"expected {EXPECTED[kind]}, got {_shown(value)}"
    if kind == "literal_error":
        expected = str(detail["ctx"]["expected"]) if "ctx" in detail else ""
        guess = nearest(str(value), [word.strip(" '") for word in expected.replace(" or ", ",").split(",")])
        return f"expected {expected}, got {_shown(value)}" + (f"; did you mean {guess}?" if guess else "")
    if kind == "value_error":
        return str(detail["msg"]).removeprefix("Value error, ")
    message = str(detail["msg"]).removeprefix("Input should be ")
    return f"expected a value {message}, got {_shown(value)}"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."


def _fields_at(model: type[BaseModel], loc: KeyPath) -> list[str]:
    """Names that the model at `loc` below `model` knows."""
    here: type[BaseModel] = model
    for step in loc:
        field = next((f for name, f in here.model_fields.items() if step in (name, f.alias)), None)
        inner = _model_in(field.annotation) if field else None
        if inner is not None:
            here = inner
    return [field.alias or name for name, field in here.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, types.UnionType):
        return next((found for found in map(_model_in, get_args(annotation)) if found), None)
    return None
