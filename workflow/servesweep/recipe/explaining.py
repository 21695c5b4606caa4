"""From a fault that pydantic found to a sentence that a user understands at once."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from servesweep.recipe.belonging import ARGS, belongs
from servesweep.recipe.problems import KeyPath, listed, nearest, shown, similar
from servesweep.recipe.section import NULL_IS_SAID, Choice
from servesweep.recipe.written import text_of

EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
}
BOUNDS = {
    "greater_than": ("gt", "a number above"),
    "greater_than_equal": ("ge", "a number from"),
    "less_than": ("lt", "a number below"),
    "less_than_equal": ("le", "a number up to"),
}
# Keys of the language's first version, and what says the same today.
V1 = {
    "backend": "engine and roles",
    "infra": "services etcd and nats",
    **{f"{mode}_{key}": f"roles.{mode}.{key}" for mode in ("prefill", "decode", "agg") for key in (
        "nodes", "workers", "critical")},
    **{f"gpus_per_{mode}": f"roles.{mode}.gpus" for mode in ("prefill", "decode", "agg")},
    "orchestrator_placement": "placement.node",
    "dedicated_node": "placement.node: dedicated",
    "client_placement": "placement.node",
    "client_dedicated_node": "placement.node: dedicated",
    "version": "source.pypi",
    "hash": "source.git and source.rev",
    "cargo_patches": "source.patches",
}  # fmt: skip
# What ADR-0001 decided not to have, and what does the same.
WHOLE_NODES = (
    "multiple framework processes on a single node are deliberately not supported: a replica has whole nodes."
    " Scale inside it by the framework's own arguments, such as --dp-size, or describe workers by roles"
)
SHARDING = "sharding is the framework's own concern: write its flags in framework_args; none is inferred"
REFUSED = {
    **dict.fromkeys(("processes_per_node", "replicas_per_node", "gpus_per_replica"), WHOLE_NODES),
    **dict.fromkeys(("tp", "pp", "dp", "ep"), SHARDING),
    **{f"{kind}_parallel_size": SHARDING for kind in ("tensor", "pipeline", "data", "expert")},
    "framework_port": "every replica serves on port 8080, so that its address is known without asking",
}
SYNONYMS = {"environment": "env", "time": "time_limit", "walltime": "time_limit"}
# So many keys are listed; of more, only some that resemble the wrong one.
MANY, SHOWN = 12, 5
EMPTY = {"string_too_short": "the text is empty", "too_short": "the list is empty"}


def explain(
    model: type[BaseModel], detail: ErrorDetails, beside: Iterable[str] = (), *, of_recipe: bool = False
) -> str:
    """One sentence about a fault of data that was validated against `model`.

    Keys that stand `beside` those of the model may be meant by a misspelt one.
    `of_recipe` is said where the data is of a recipe: a key may belong in another of its sections.
    """
    kind, value = detail["type"], detail["input"]
    context = detail.get("ctx", {})
    if kind == "extra_forbidden":
        here = model_at(model, detail["loc"][:-1])
        known = sorted([*_names(here), *(beside if here is model else ())])
        return _unknown_key(str(detail["loc"][-1]), here, known, of_recipe=of_recipe)
    if kind == "missing":
        return _missing(model_at(model, detail["loc"][:-1]), str(detail["loc"][-1]))
    if kind in ("model_type", "model_attributes_type"):
        return f"expected {_form(model_at(model, detail['loc']))}, got {shown(value)}"
    if kind == "string_type" and isinstance(value, int | float) and not isinstance(value, bool):
        text = text_of(value)
        return f'expected text, got the number {text}: write it in quotes, "{text}"'
    if kind in EXPECTED:
        quotes = ": write it without quotes" if _quoted_number(kind, value) else ""
        return f"expected {EXPECTED[kind]}, got {shown(value)}{quotes}"
    if kind in BOUNDS:
        bound, words = BOUNDS[kind]
        return f"expected {words} {_number(context[bound])}, got {shown(value)}"
    if kind in EMPTY:
        return EMPTY[kind]
    if kind == "literal_error":
        return _none_of(_choices(str(context["expected"])), value)
    if kind in ("value_error", "section_fault"):
        return str(detail["msg"]).removeprefix("Value error, ")
    return f"expected a value {str(detail['msg']).removeprefix('Input should be ')}, got {shown(value)}"


def _number(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def model_at(model: type[BaseModel], loc: KeyPath) -> type[BaseModel]:
    """The innermost model on the way of `loc` below `model`."""
    here = model
    for step in loc:
        field = next((f for name, f in here.model_fields.items() if step in (name, f.alias)), None)
        here = (model_in(field.annotation) if field else None) or here
    return here


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that a field's annotation holds, also an optional one, or one of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, types.UnionType, tuple):
        return next((found for found in map(model_in, get_args(annotation)) if found), None)
    return None


def allows_nothing(field: FieldInfo) -> bool:
    """Whether null says something that leaving the key out does not."""
    optional = type(None) in get_args(field.annotation)
    return optional and (field.get_default() is not None or field.json_schema_extra == NULL_IS_SAID)


def _names(model: type[BaseModel]) -> list[str]:
    return sorted(field.alias or name for name, field in model.model_fields.items())


def _unknown_key(key: str, model: type[BaseModel], names: list[str], *, of_recipe: bool) -> str:
    if key in REFUSED and "replicas" in model.model_fields:
        return REFUSED[key]
    if key in V1:
        return f"a key of v1: say {V1[key]} (`servesweep migrate` rewrites v1 recipes)"
    # Far-fetched guesses come after a section that has this very key.
    meant = SYNONYMS.get(key)
    guess = meant if meant in names else nearest(key, names, surely=True)
    elsewhere = belongs(key, model) if of_recipe and not guess else None
    guess = guess or nearest(key, names)
    if elsewhere:
        # A key of every role is nearer than a flag that only an engine knows.
        asked = f"did you mean {guess}? Otherwise " if guess and ARGS in elsewhere else ""
        return f"unknown key here: {asked}{elsewhere}"
    return f"unknown key; did you mean {guess}?" if guess else f"unknown key; {_known(key, names)}"


def _known(key: str, names: list[str]) -> str:
    if not names:
        return "nothing can be set here"
    if len(names) > MANY:
        return f"of the {len(names)} known here these are nearest: {', '.join(similar(key, names, SHOWN))}"
    return f"known here: {', '.join(names)}"


def _missing(model: type[BaseModel], key: str) -> str:
    field = next((f for name, f in model.model_fields.items() if key in (name, f.alias)), None)
    values = get_args(field.annotation) if field and get_origin(field.annotation) is Literal else ()
    return "required key is missing" + (f": write {key}: {values[0]}" if len(values) == 1 else "")


def _form(model: type[BaseModel]) -> str:
    """How the section that `model` reads is written."""
    if issubclass(model, Choice):
        return "a name, or a mapping with `type`"
    if "type" in model.model_fields:
        return f"a mapping such as {{type: {model.model_fields['type'].default}}}"
    if len(model.model_fields) == 1:
        ((name, field),) = model.model_fields.items()
        return f"a mapping such as {{{name}: {'…' if field.is_required() else field.default}}}"
    return f"a mapping with the keys {', '.join(_names(model))}"


def _quoted_number(kind: str, value: Any) -> bool:
    return kind in ("int_type", "float_type") and isinstance(value, str) and value.strip().isdigit()


def _choices(expected: str) -> list[str]:
    return [word.strip(" '") for word in expected.replace(" or ", ",").split(",")]


def _none_of(choices: list[str], value: Any) -> str:
    sentence = f"expected {listed(choices, 'or')}, got {shown(value)}"
    if str(value) in choices:
        return f"{sentence}: write it without quotes"
    guess = nearest(str(value), choices)
    return sentence + (f"; did you mean {guess}?" if guess else "")
