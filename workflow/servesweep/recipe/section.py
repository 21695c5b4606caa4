"""The base of every recipe section, and the two value shapes that sections share."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from servesweep.recipe.plugins import without_plugins
from servesweep.recipe.problems import shown
from servesweep.recipe.texts import LineOrNothing, Text
from servesweep.recipe.written import text_of

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Section(BaseModel):
    """A strict, immutable block of a recipe: unknown keys and coerced types are errors."""

    # Without the constants .inf would come back from plan.json as null. A validator is built when first used:
    # most sections are only ever read as parts of others, and every command would wait for theirs.
    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, ser_json_inf_nan="constants", defer_build=True
    )

    @classmethod
    def model_rebuild(cls, **options: Any) -> bool | None:
        """Build the validator."""
        with without_plugins():
            return super().model_rebuild(**options)

    def __eq__(self, other: object) -> bool:
        """As any model's; most sections of most recipes are one and the same default."""
        return self is other or super().__eq__(other)


S = TypeVar("S", bound=Section)


def unsaid(section: type[S]) -> Callable[[], S]:
    """Default of a section that a recipe does not have: immutable, so that all recipes share one."""
    return cache(section)


def said(section: Section, keys: Iterable[str]) -> list[str]:
    """Those of the keys whose value is not their default."""
    # What was never given is a default already; most sections are not given at all.
    given = section.model_fields_set
    if not given:
        return []
    fields = type(section).model_fields
    return [
        key
        for key in keys
        if key in given and getattr(section, key) != fields[key].get_default(call_default_factory=True)
    ]


def option(section: Section, name: str) -> Any:
    """The value of a field that not every section of a kind has; None where it has none.

    `getattr` with a default is an exception within pydantic for each that has none.
    """
    return section.__dict__.get(name)


def fault(sentence: str, *key: str | int) -> PydanticCustomError:
    """A fault that a section finds at `key` below itself, for validators to raise."""
    return PydanticCustomError("section_fault", "{sentence}", {"sentence": sentence, "at": key})


def _environment_value(value: Any) -> str:
    """Accept what YAML reads as text or number; a boolean has no one spelling in an environment."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        texts = f'"{str(value).lower()}" or "{int(value)}"'
        raise ValueError(f"programs read true and false in many spellings: write the text meant, {texts}")
    if value is None:
        raise ValueError('the variable has no value: write "" for empty text')
    if isinstance(value, int | float):
        return text_of(value)
    raise ValueError(f"expected text, got {shown(value)}")


def _environment_name(value: Any) -> str:
    if not isinstance(value, str) or not PLAIN_NAME.fullmatch(value):
        raise ValueError(
            f"{value!r} is no name of an environment variable: letters, digits and _, no digit first"
        )
    return value


# What an editor may take for right; the validators above have the last word.
TEXT_OR_NUMBER = WithJsonSchema({"type": ["string", "number"]})

VariableName = Annotated[str, BeforeValidator(_environment_name)]
Environment = dict[
    VariableName,
    Annotated[Text, BeforeValidator(_environment_value), TEXT_OR_NUMBER],
]


def _option_value(value: Any) -> str:
    """Accept the value of a Slurm option as people write it: text or a number."""
    if isinstance(value, bool) or value is None:
        raise ValueError('write "" for a flag without a value')
    if isinstance(value, int | float):
        return text_of(value)
    if isinstance(value, str):
        return value
    raise ValueError(f"expected text, got {shown(value)}")


SlurmOptions = dict[str, Annotated[LineOrNothing, BeforeValidator(_option_value), TEXT_OR_NUMBER]]


# Of a field: recipes write its null, to say that the cluster's default holds.
NULL_IS_SAID: dict[str, Any] = {"x-null": "the cluster's default"}

# A list in the file, an immutable tuple in the model.
Words = Annotated[tuple[Text, ...], Field(strict=False)]


class Choice(Section):
    """A `type` with that type's own options beside it, which the type's own model checks later."""

    type: str = Field(description="The registered name.")
    options: dict[str, Any] = Field(default_factory=dict, description="The keys that belong to this type.")

    @cached_property
    def options_text(self) -> str:
        """The options as JSON, by which those that are read already are found again."""
        return json.dumps(self.options)

    @model_validator(mode="before")
    @classmethod
    def _fold(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"type": data}
        if isinstance(data, dict):
            own = {key: value for key, value in data.items() if key in cls.model_fields and key != "options"}
            rest = {key: value for key, value in data.items() if key not in own}
            return {**own, "options": rest} if rest else own
        return data

    @model_serializer(mode="wrap")
    def _unfold(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data = serialize(self)
        return {**{key: value for key, value in data.items() if key != "options"}, **data.get("options", {})}
