"""Marks of keys that the language has and a run of this version would have to leave out.

A mark stands at the key's own field, and the plan's refusal, the reference page and the editors' schema take
their words from it.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

NOT_YET = "this version cannot run it yet"


class NotYet:
    """The mark, as `json_schema_extra` of a field: what is left out, and of which value if not of all."""

    def __init__(self, what: str, value: str | None = None) -> None:
        self.what = what
        self.value = value

    def __str__(self) -> str:
        told = NOT_YET[0].upper() + NOT_YET[1:] if self.value is None else f"`{self.value}`: {NOT_YET}"
        return f"{told}: {self.what}."

    def __call__(self, schema: dict[str, Any]) -> None:
        """Say it in the description that editors show."""
        schema["description"] = f"{schema.get('description', '')} {self}".strip()


def mark_of(field: FieldInfo) -> NotYet | None:
    """The mark of a field, if it has one."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, NotYet) else None


def left_out(section: type[BaseModel], key: str) -> str:
    """What the mark of a section's key says is left out.

    Raises:
        KeyError: for a key without a mark.
    """
    mark = mark_of(section.model_fields[key])
    if mark is None:
        raise KeyError(key)
    return mark.what
