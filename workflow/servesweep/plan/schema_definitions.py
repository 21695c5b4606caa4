"""The sections of a model as JSON Schema definitions, in the forms that people may write.

Alternatives are told apart by the kind of value, never tried one after the other: a validator then says what
is wrong with the one that was written, and an editor knows which keys belong there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from servesweep.recipe.explaining import allows_nothing, model_in

Schema = dict[str, Any]

REF = "#/definitions/"
# Sections that are also written as one value of this kind, which may stand for a key of theirs.
SHORT_FORMS: Mapping[str, tuple[str, str | None]] = {
    "RestartSection": ("string", "policy"),
    "KvEventsSection": ("boolean", None),
    "TcpReadiness": ("integer", "port"),
    "FileReadiness": ("string", "path"),
}


def definitions(model: type[BaseModel]) -> dict[str, Schema]:
    """Every section below a model, and the model, by name."""
    schema = model.model_json_schema(by_alias=True, ref_template=f"{REF}{{model}}")
    found: dict[str, Schema] = schema.pop("$defs", {})
    found[model.__name__] = schema
    _without_null(model, found, set())
    told = {name: _told_apart(one) for name, one in found.items()}
    return told | {name: _shortened(told[name], *form) for name, form in SHORT_FORMS.items() if name in told}


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a field's annotation holds, also in optional ones and in lists."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from models_in(part)


def by_kind(choices: list[Schema]) -> Schema:
    """One schema for alternatives of different kinds (text, number, list, mapping …)."""
    kinds: list[str] = []
    cases: list[Schema] = []
    for choice in choices:
        own = kinds_of(choice)
        kinds += [kind for kind in own if kind not in kinds]
        if set(choice) - {"type"}:
            condition = {"type": own[0] if len(own) == 1 else own}
            cases.append({"if": condition, "then": {k: v for k, v in choice.items() if k != "type"}})
    merged: Schema = {"type": kinds[0] if len(kinds) == 1 else kinds}
    return merged | (cases[0] if len(cases) == 1 else {"allOf": cases} if cases else {})


def kinds_of(schema: Schema) -> list[str]:
    """The JSON types that a schema takes; a section is a mapping, or its short form."""
    if "$ref" in schema:
        short = SHORT_FORMS.get(schema["$ref"].removeprefix(REF))
        return ["object", short[0]] if short else ["object"]
    kinds = schema.get("type", "object")
    return list(kinds) if isinstance(kinds, list) else [kinds]


def _without_null(model: type[BaseModel], defs: dict[str, Schema], seen: set[type]) -> None:
    """A key without a value is an error, so null is no value where leaving the key out says the same."""
    seen.add(model)
    properties = defs.get(model.__name__, {}).get("properties", {})
    for name, field in model.model_fields.items():
        schema = properties.get(field.alias or name, {})
        choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
        if choices and not allows_nothing(field):
            del schema["anyOf"]
            if schema.get("default", 0) is None:
                del schema["default"]
            schema |= choices[0] if len(choices) == 1 else {"anyOf": choices}
        # Into lists the loader does not look for keys without a value.
        inner = model_in(field.annotation)
        if inner is not None and inner not in seen:
            _without_null(inner, defs, seen)


def _told_apart(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_told_apart(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    told = {key: _told_apart(value) for key, value in schema.items() if key != "anyOf"}
    # JSON has no infinity, and a file with one in it is no JSON to an editor.
    if not _is_json(told.get("default")):
        del told["default"]
    # Below `properties` it may be a key of that name.
    if isinstance(schema.get("anyOf"), list):
        told |= by_kind(_told_apart(schema["anyOf"]))
    elif "anyOf" in schema:
        told["anyOf"] = _told_apart(schema["anyOf"])
    return told


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _shortened(schema: Schema, kind: str, key: str | None) -> Schema:
    """A section that may also be `true` or `false`, or the value of one of its keys alone."""
    wide = {**schema, "type": ["object", kind]}
    if key is None:
        return {**wide, "examples": [True]}
    value = schema["properties"][key]
    limits = {word: value[word] for word in ("enum", "minimum", "maximum", "minLength") if word in value}
    examples = {"examples": value["enum"]} if "enum" in value else {}
    return {**wide, **examples, "if": {"type": kind}, "then": limits}
