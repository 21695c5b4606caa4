"""Sections with a `type`: by if and then, so that the keys of the chosen type are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from servesweep.benchmarks import BENCHMARKS
from servesweep.engines import ENGINES
from servesweep.frontends import FRONTENDS
from servesweep.plan.schema_definitions import Schema, definitions
from servesweep.services import SERVICES
from servesweep.services.service import NoServiceOptions

CHOICES: Mapping[str, Mapping[str, type[BaseModel]]] = {
    "EngineSection": {name: engine.Options for name, engine in ENGINES.items()},
    "BenchmarkSection": {name: kind.Options for name, kind in BENCHMARKS.items()},
}


@dataclass(frozen=True)
class Kinds:
    """A section's keys for every type, and the options of each type: its schema as a mapping."""

    shared: Schema
    default: str | None
    description: str
    options: Mapping[str, Schema]

    @property
    def names(self) -> list[str]:
        """The registered types."""
        return sorted(self.options)

    @property
    def all_options(self) -> Iterable[tuple[str, list[Any]]]:
        """Each key that is an option of some type, with its different schemas."""
        found: dict[str, list[Any]] = {}
        for body in self.options.values():
            for key, value in body.get("properties", {}).items():
                schemas = found.setdefault(key, [])
                if _said(value) not in map(_said, schemas):
                    schemas.append(value)
        return found.items()


def _said(schema: Schema) -> Schema:
    """What of a schema is no remark."""
    return {key: value for key, value in schema.items() if key not in ("description", "default", "title")}


def kinds_of_choice(section: Schema, kinds: Mapping[str, type[BaseModel]]) -> tuple[Kinds, dict[str, Schema]]:
    """The types of a section, and the further definitions that their options need."""
    shared = {key: value for key, value in section["properties"].items() if key not in ("type", "options")}
    further: dict[str, Schema] = {}
    options: dict[str, Schema] = {}
    for kind, model in kinds.items():
        own = definitions(model)
        options[kind] = own.pop(model.__name__)
        further |= own
    default = section["properties"]["type"].get("default")
    return Kinds(shared, default, section["description"], options), further


def chosen(kinds: Kinds) -> Schema:
    """A bare name, or a mapping with `type`, what all types share, and the options of that type alone."""
    return {
        "description": kinds.description,
        "type": ["string", "object"],
        "examples": kinds.names,
        "properties": {"type": _type(kinds), **kinds.shared},
        **({} if kinds.default else {"required": ["type"]}),
        "allOf": [*_bare(kinds), *(_case(kinds, kind) for kind in kinds.options), *_untold(kinds)],
    }


def _type(kinds: Kinds) -> Schema:
    return {"type": "string", "enum": kinds.names, "description": "The registered name."}


def _bare(kinds: Kinds) -> list[Schema]:
    """The name alone, where the type needs no options."""
    needy = [kind for kind in kinds.names if kinds.options[kind].get("required")]
    named = {"if": {"type": "string"}, "then": {"enum": kinds.names}}
    return [named, {"if": {"enum": needy}, "then": {"type": "object"}}] if needy else [named]


def _case(kinds: Kinds, kind: str) -> Schema:
    body = kinds.options[kind]
    return {
        "if": of_type(kind),
        "then": {
            # What is required may hang on another option.
            **{key: body[key] for key in ("if", "then", "else") if key in body},
            "properties": {"type": {"const": kind}, **kinds.shared, **body.get("properties", {})},
            "required": ["type", *body.get("required", [])],
            "additionalProperties": False,
        },
    }


def _untold(kinds: Kinds) -> list[Schema]:
    """Without a type it is the default's; where other keys stand, the type was forgotten."""
    if kinds.default is None:
        return []
    body = kinds.options[kinds.default].get("properties", {})
    known = {"propertyNames": {"enum": [*kinds.shared, *body]}}
    untold = {"if": known, "then": {"properties": body}, "else": {"required": ["type"]}}
    return [{"if": {"type": "object", "not": {"required": ["type"]}}, "then": untold}]


def of_type(kind: str) -> Schema:
    """Whether a mapping says this type."""
    return {"type": "object", "properties": {"type": {"const": kind}}, "required": ["type"]}


def frontend_cases() -> list[Schema]:
    """The arguments that a frontend does not take, because the topology decides them."""
    cases: list[Schema] = []
    for name, frontend in FRONTENDS.items():
        words = "|".join(sorted(word.replace("-", "[-_]") for word in frontend.reserved))
        if words:
            told = {"errorMessage": "servesweep sets this argument itself, from the topology"}
            args = {"propertyNames": {"not": {"pattern": f"^({words})$"}, **told}}
            cases.append({"if": of_type(name), "then": {"properties": {"args": args}}})
    return cases


def service_cases() -> tuple[list[Schema], dict[str, Schema]]:
    """The options of each type of service, with the definitions they need."""
    cases: list[Schema] = []
    further: dict[str, Schema] = {}
    for name, kind in SERVICES.items():
        if kind.Options is NoServiceOptions:
            continue
        own = definitions(kind.Options)
        body = own.pop(kind.Options.__name__)
        further |= own
        on = of_type(name)
        on["properties"] = {**on["properties"], "enabled": {"not": {"const": False}}}
        needed = {"required": ["options"]} if body.get("required") else {}
        cases.append({"if": on, "then": {"properties": {"options": body}, **needed}})
    return cases, further
