"""Tables of the reference page: of each model its keys, what they take, their default, what they mean."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from servesweep.plan.schema_definitions import SHORT_FORMS, models_in
from servesweep.recipe.benchmark import BenchmarkSection
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.not_yet import mark_of
from servesweep.recipe.profiling import ProfiledSteps
from servesweep.recipe.roles import RoleSection
from servesweep.recipe.section import Choice
from servesweep.recipe.services import ServiceSection

TABLE = ("| key | takes | default | meaning |", "|---|---|---|---|")
# Models that several keys of one section hold: the word that stands for any of these keys.
ANY_OF: Mapping[type[BaseModel], str] = {RoleSection: "<role>", ProfiledSteps: "<phase>"}
# Keys that take a name out of a registry.
NAMES: Mapping[tuple[type[BaseModel], str], str] = {
    (FrontendSection, "type"): "one of the [types](#types-of-frontends)",
    (ServiceSection, "type"): "one of the [types](#types-of-services)",
    (BenchmarkSection, "type"): "one of these types",
}
KINDS = {
    "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false",
    "object": "mapping", "null": "null",
}  # fmt: skip


@dataclass(frozen=True)
class Listed:
    """A section of the page: its key, its model, and the real keys that `<…>` in its key stands for."""

    key: str
    model: type[BaseModel]
    names: tuple[str, ...]

    @property
    def title(self) -> str:
        """The heading: the keys that have it."""
        return ", ".join(f"`{name}`" for name in self.names)


def sections(model: type[BaseModel], seen: set[type[BaseModel]], prefix: str = "") -> Iterator[Listed]:
    """Every section below a model, each model once."""
    for name, field in model.model_fields.items():
        for inner in models_in(field.annotation):
            if inner in seen:
                continue
            seen.add(inner)
            several = "[]" if "tuple" in str(field.annotation) else ""
            same = [f.alias or n for n, f in model.model_fields.items() if inner in models_in(f.annotation)]
            key = f"{prefix}{ANY_OF.get(inner, field.alias or name)}{several}"
            same = same if inner in ANY_OF else [field.alias or name]
            yield Listed(key, inner, tuple(f"{prefix}{one}{several}" for one in same))
            if not issubclass(inner, Choice):
                yield from sections(inner, seen, f"{key}.")


def anchor(title: str) -> str:
    """The fragment by which GitHub finds a heading."""
    return re.sub(r"[^a-z0-9_ -]", "", title.lower()).replace(" ", "-")


def table(rows: Iterator[str]) -> str:
    """Rows below the head of the table; a sentence where there are none."""
    found = list(rows)
    return "\n".join([*TABLE, *found]) + "\n" if found else "It has no options.\n"


def rows(
    model: type[BaseModel], prefix: str, anchors: Mapping[str, str], skip: frozenset[str] = frozenset()
) -> Iterator[str]:
    """A row for each key; sections that have no place of their own on the page follow their key."""
    for name, field in model.model_fields.items():
        if name in skip or (name == "options" and issubclass(model, Choice)):
            continue
        key = f"{prefix}{field.alias or name}"
        mark = mark_of(field)
        meaning = f"{field.description or ''} {mark or ''}".strip()
        cells = (f"`{key}`", takes(model, name, anchors), default(field), meaning)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        for inner in models_in(field.annotation):
            if inner.__name__ not in anchors:
                yield from rows(inner, f"{key}.", anchors)


def takes(model: type[BaseModel], name: str, anchors: Mapping[str, str]) -> str:
    """What a field takes, in the words of people, with each short form."""
    if (model, name) in NAMES:
        return NAMES[model, name]
    alias = model.model_fields[name].alias or name
    whole = model.model_json_schema(by_alias=True)
    properties = whole.get("properties") or whole["$defs"][model.__name__]["properties"]
    return _words(properties[alias], whole.get("$defs", {}), anchors)


def _words(schema: Mapping[str, Any], defs: Mapping[str, Any], anchors: Mapping[str, str]) -> str:
    if "$ref" in schema:
        return _section(schema["$ref"].rpartition("/")[2], defs, anchors)
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        words = [_words(one, defs, anchors) for one in schema["anyOf"] if one != {"type": "null"}]
        return " or ".join(dict.fromkeys(words))
    kinds = schema.get("type")
    if kinds == "array":
        inner = _words(schema.get("items", {}), defs, anchors)
        return "list" if inner == "anything" else f"list of {inner.replace('mapping]', 'mappings]')}"
    names = [KINDS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds or ())]
    return " or ".join(names) or "anything"


def _section(name: str, defs: Mapping[str, Any], anchors: Mapping[str, str]) -> str:
    """A section by the link to its keys, after what else says it in short."""
    mapping = f"[mapping](#{anchors[name]})" if name in anchors else "mapping"
    if name in ("EngineSection", "BenchmarkSection"):
        return f"name or {mapping}"
    if name not in SHORT_FORMS:
        return mapping
    kind, key = SHORT_FORMS[name]
    value = defs.get(name, {}).get("properties", {}).get(key, {})
    short = " or ".join(f"`{word}`" for word in value.get("enum", ())) or KINDS[kind]
    return f"{short} or {mapping}"


def default(field: FieldInfo) -> str:
    """What holds where the key is left out; nothing where the meaning says it."""
    if field.is_required():
        return "**required**"
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined or isinstance(value, BaseModel) or value in ({}, (), []):
        return ""
    if value == [math.inf]:
        return "`inf`"
    return f"`{json.dumps(value)}`"
