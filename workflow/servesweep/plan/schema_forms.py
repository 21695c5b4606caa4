"""The same sections where a recipe is a template or a part: in a sweep, in a base or override, in a zip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from servesweep.plan.schema_choices import Kinds
from servesweep.plan.schema_definitions import REF, Schema, kinds_of

PLACEHOLDER = r"\{[A-Za-z_][A-Za-z0-9_.-]*\}"
# What a placeholder need not keep.
LIMITS = ("enum", "const", "pattern", "minLength", "if", "then", "else", "allOf")
TOLD = ("description", "title", "default", "examples")


@dataclass(frozen=True)
class Form:
    """How sections are written in some place; `name` stands before the names of their definitions.

    Placeholders stand for values everywhere. `part`: nothing is required, and null deletes a key. `lists`:
    a list is a dimension, whose items are values.
    """

    name: str
    part: bool = False
    lists: bool = False

    def section(self, name: str, schema: Schema) -> Schema:
        """The definition `name` in this form."""
        return self._formed(schema, {"$ref": f"{REF}{PART.name}{name}"})

    def choice(self, name: str, schema: Schema, kinds: Kinds) -> Schema:
        """A section with a type: in a part, the options of all types, since another block may say which."""
        if not self.part:
            return self.section(name, schema)
        options = {key: _any_of(found) for key, found in kinds.all_options}
        extended = {key: schema[key] for key in ("description", "type", "examples")}
        extended["properties"] = {"type": schema["properties"]["type"], **kinds.shared, **options}
        extended |= {"additionalProperties": False, "if": {"type": "string"}, "then": {"enum": kinds.names}}
        return self.section(name, extended)

    def value(self, schema: Any) -> Any:
        """What may stand for a value of this schema."""
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            return schema | {"$ref": schema["$ref"].replace(REF, f"{REF}{self.name}")}
        if "anyOf" in schema:
            return {"anyOf": [self.value(one) for one in schema["anyOf"]]}
        return self._formed(schema) if "type" in schema else self._inside(schema)

    def _formed(self, schema: Schema, item: Schema | None = None) -> Schema:
        one = self._or_placeholder(self._inside(schema))
        if not self.lists:
            return one
        told = {key: value for key, value in one.items() if key in TOLD}
        bare = {key: value for key, value in one.items() if key not in TOLD}
        item = item or {key: value for key, value in PART.value(schema).items() if key not in TOLD}
        return {**told, "if": {"type": "array"}, "then": {"items": item}, "else": bare}

    def _inside(self, schema: Schema) -> Schema:
        """The same with its own values in this form."""
        inside = {key: value for key, value in schema.items() if key != "required" or not self.part}
        if isinstance(schema.get("properties"), dict):
            inside["properties"] = {key: self.value(one) for key, one in schema["properties"].items()}
        if isinstance(schema.get("additionalProperties"), dict):
            inside["additionalProperties"] = self.value(schema["additionalProperties"])
        if isinstance(schema.get("items"), dict):
            # A list replaces a list, so its items are whole.
            inside["items"] = SWEPT.value(schema["items"])
        for key in ("then", "else"):
            if key in inside:
                inside[key] = self._case(inside[key])
        if "allOf" in inside:
            inside["allOf"] = [self._case(one) for one in inside["allOf"]]
        return inside

    def _case(self, schema: Schema) -> Schema:
        return self.value(schema) if "$ref" in schema else self._inside(schema)

    def _or_placeholder(self, schema: Schema) -> Schema:
        """Let a placeholder stand for it, and null where that deletes."""
        kinds = kinds_of(schema)
        texts = [] if "string" in kinds else ["string"]
        nulls = ["null"] if self.part and "null" not in kinds else []
        wide = {**schema, "type": [*kinds, *texts, *nulls]}
        limits = {key: wide.pop(key) for key in LIMITS if key in wide}
        if "object" in kinds and texts and not limits:
            return {**wide, "pattern": PLACEHOLDER}
        if nulls and "enum" in limits:
            limits["enum"] = [*limits["enum"], None]
        other = {"type": [*kinds, *nulls], **limits} if texts else limits
        if not other:
            return wide
        return {**wide, "if": {"type": "string", "pattern": PLACEHOLDER}, "else": other}


def _any_of(schemas: list[Schema]) -> Schema:
    """What one of the types may take; of one kind of value that kind, whatever its limits in each."""
    if len(schemas) == 1:
        return schemas[0]
    kinds = [kinds_of(schema) for schema in schemas]
    scalar = not {"object", "array"} & set(kinds[0])
    return {"type": kinds[0]} if scalar and all(one == kinds[0] for one in kinds) else {"anyOf": schemas}


SWEPT = Form("Swept")
PART = Form("Part", part=True)
ZIP = Form("Zip", part=True, lists=True)
FORMS = (SWEPT, PART, ZIP)
