"""JSON Schema of recipes and of the cluster file, so that editors complete and check what people write.

Composed from the models and from what engines and benchmarks register, so it never says anything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from servesweep.benchmarks import BENCHMARKS
from servesweep.engines import ENGINES
from servesweep.frontends import FRONTENDS
from servesweep.plan.services import TYPES
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.explaining import allows_nothing
from servesweep.recipe.recipe import Recipe

DRAFT = "https://json-schema.org/draft/2020-12/schema"
REF = "#/$defs/"
PLACEHOLDER = {"type": "string", "pattern": r"\{[A-Za-z_][A-Za-z0-9_.-]*\}"}
# Sections that are also written as one word.
SHORT_FORMS: Mapping[str, list[dict[str, Any]]] = {
    "RestartSection": [{"type": "string", "enum": ["never", "on-failure", "always"]}],
    "KvEventsSection": [{"type": "boolean"}],
    "TcpReadiness": [{"type": "integer"}],
    "FileReadiness": [{"type": "string"}],
}

Schema = dict[str, Any]


def recipe_schema() -> Schema:
    """A recipe: one configuration, one with a sweep, or a base with overrides."""
    defs = _definitions(Recipe)
    defs |= {f"Loose{name}": _loose(schema) for name, schema in defs.items()}
    loose = {"$ref": f"{REF}LooseRecipe"}
    return {
        "$schema": DRAFT,
        "title": "servesweep recipe",
        "type": "object",
        "if": {"required": ["base"]},
        "then": {
            "properties": {"schema": {"const": 2}, "base": loose},
            "patternProperties": {"^override_.": loose, "^zip_override_.": {"type": "object"}},
            "additionalProperties": False,
        },
        "else": {"if": {"required": ["sweep"]}, "then": loose, "else": {"$ref": f"{REF}Recipe"}},
        "$defs": defs,
    }


def cluster_schema() -> Schema:
    """The cluster file."""
    return {
        "$schema": DRAFT,
        "title": "servesweep cluster file",
        "$ref": f"{REF}Cluster",
        "$defs": _definitions(Cluster),
    }


def _definitions(model: type[BaseModel]) -> dict[str, Schema]:
    """Every section below a model by its name, with the forms and the types that may be written."""
    schema = model.model_json_schema(by_alias=True)
    defs: dict[str, Schema] = schema.pop("$defs", {})
    defs[model.__name__] = schema
    _without_null(model, defs, set())
    for name, forms in SHORT_FORMS.items():
        if name in defs:
            defs[name] = {"anyOf": [*forms, defs[name]]}
    if "EngineSection" in defs:
        _choose(defs, "EngineSection", {name: engine.Options for name, engine in ENGINES.items()})
        _choose(defs, "BenchmarkSection", {name: kind.Options for name, kind in BENCHMARKS.items()})
        defs["FrontendSection"]["properties"]["type"]["enum"] = sorted(FRONTENDS)
        defs["ServiceSection"]["properties"]["type"]["enum"] = list(TYPES)
    return defs


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
        for inner in models_in(field.annotation):
            if inner not in seen:
                _without_null(inner, defs, seen)


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that a field's annotation holds, also in optional ones and in lists."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in getattr(annotation, "__args__", ()):
        yield from models_in(part)


def _choose(defs: dict[str, Schema], section: str, kinds: Mapping[str, type[BaseModel]]) -> None:
    """Write a section as a bare name, or a mapping with `type` and the options of that type."""
    shared = {
        key: value for key, value in defs[section]["properties"].items() if key not in ("type", "options")
    }
    described = defs[section]["description"]
    cases: list[Schema] = []
    for kind, options in kinds.items():
        own = _definitions(options)
        body = own.pop(options.__name__)
        defs |= {name: value for name, value in own.items() if name not in defs}
        cases.append(
            {
                "if": {"properties": {"type": {"const": kind}}, "required": ["type"]},
                "then": {
                    "properties": {"type": {"const": kind}, **shared, **body.get("properties", {})},
                    "required": ["type", *body.get("required", [])],
                    "additionalProperties": False,
                },
            }
        )
    names = {"type": "string", "enum": sorted(kinds)}
    mapping = {"type": "object", "properties": {"type": names, **shared}, "allOf": cases}
    if "default" not in defs[section]["properties"]["type"]:
        mapping["required"] = ["type"]
    defs[section] = {"description": described, "anyOf": [names, mapping]}


def _loose(schema: Any) -> Any:
    """The same for a part of a recipe: nothing is required, null deletes, placeholders stand for values."""
    if isinstance(schema, list):
        return [_loose(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    loose = {
        key: _loose(value) for key, value in schema.items() if key not in ("required", "if", "then", "allOf")
    }
    if isinstance(loose.get("$ref"), str):
        loose["$ref"] = loose["$ref"].replace(REF, f"{REF}Loose")
    if isinstance(schema.get("properties"), dict):
        loose["properties"] = {
            key: {"anyOf": [_loose(value), PLACEHOLDER, {"type": "null"}]}
            for key, value in schema["properties"].items()
        }
        if "allOf" in schema:
            return {"type": "object", "properties": _all_options(schema, loose)}
        if schema.get("title") == "Recipe":
            loose["properties"]["sweep"] = {"type": "object", "description": "Parameters and their values."}
    return loose


def _all_options(schema: Schema, loose: Schema) -> Schema:
    """The options of every type together: which type it is, another block may say."""
    properties: Schema = dict(loose["properties"])
    options: dict[str, list[Schema]] = {}
    for case in schema["allOf"]:
        for key, value in case["then"]["properties"].items():
            if key not in properties:
                options.setdefault(key, []).append(_loose(value))
    anything = [PLACEHOLDER, {"type": "null"}]
    return properties | {key: {"anyOf": [*values, *anything]} for key, values in options.items()}
