"""The reference of the recipe language as a page: every key, what it takes, its default, what it means."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from servesweep.benchmarks import BENCHMARKS
from servesweep.engines import ENGINES
from servesweep.frontends import FRONTENDS
from servesweep.plan.json_schema import models_in
from servesweep.plan.services import TYPES
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Choice

HEAD = """\
# Recipe reference

Every key of a recipe and of the cluster file, made by `servesweep schema --page` from the code that reads
them. `servesweep schema` prints the same as JSON Schema: an editor with a YAML language server completes and
checks recipes when their first line is

```yaml
# yaml-language-server: $schema=recipe.schema.json
```

after `servesweep schema --output recipe.schema.json`. A key that is not listed here is an error. A file may
also hold a `base` with `override_<name>` and `zip_override_<name>` blocks, or a `sweep` of parameters.
"""


def reference_page() -> str:
    """The whole page, Markdown."""
    parts = [HEAD, *_section("Recipe", Recipe, "")]
    parts += _registered("engine", "Engines", {name: engine.Options for name, engine in ENGINES.items()})
    parts.append("## Frontends\n\n`frontend.type` is one of " + _names(FRONTENDS) + ".\n")
    parts.append("## Services\n\n`services[].type` is one of " + _names(dict.fromkeys(TYPES)) + ".\n")
    parts += _registered("benchmark", "Benchmarks", {name: kind.Options for name, kind in BENCHMARKS.items()})
    parts += _section("Cluster file", Cluster, "")
    return "\n".join(parts)


def _names(names: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def _registered(key: str, title: str, kinds: Mapping[str, type[BaseModel]]) -> Iterator[str]:
    yield f"## {title}\n\nOptions stand beside `type` under `{key}`.\n"
    for name, options in sorted(kinds.items()):
        rows = list(_rows(options, ""))
        yield f"### {name}\n"
        yield "\n".join([*TABLE, *rows]) + "\n" if rows else "No options.\n"


TABLE = ("| key | takes | default | meaning |", "|---|---|---|---|")


def _section(title: str, model: type[BaseModel], prefix: str) -> Iterator[str]:
    """A table for a model, then one for each section below it."""
    yield f"## {title}\n\n{(model.__doc__ or '').splitlines()[0]}\n"
    yield "\n".join([*TABLE, *_rows(model, prefix)]) + "\n"
    for name, field in model.model_fields.items():
        for inner in models_in(field.annotation):
            # The roles are one model: prefill stands for all of them.
            if issubclass(inner, Choice) or name in ("decode", "agg") or name.startswith("default_"):
                continue
            key = f"{prefix}{field.alias or name}"
            listed = "[]" if "tuple" in str(field.annotation) else ""
            yield from _section(f"`{key}{listed}`", inner, f"{key}{listed}.")


def _rows(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if name == "options" and issubclass(model, Choice):
            continue
        cells = (
            f"`{prefix}{field.alias or name}`",
            _takes(model, name),
            _default(field),
            field.description or "",
        )
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _takes(model: type[BaseModel], name: str) -> str:
    """What a field takes, in the words of people."""
    alias = model.model_fields[name].alias or name
    whole = model.model_json_schema(by_alias=True)
    properties = whole.get("properties") or whole["$defs"][model.__name__]["properties"]
    return _words(properties[alias])


def _words(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return "section"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        words = [_words(one) for one in schema["anyOf"] if one != {"type": "null"}]
        return " or ".join(dict.fromkeys(words))
    kinds = schema.get("type", "anything")
    names = {
        "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false",
        "object": "mapping", "null": "null", "anything": "anything",
    }  # fmt: skip
    if kinds == "array":
        inner = _words(schema.get("items", {}))
        return "list" if inner in ("anything", "mapping", "section") else f"list of {inner}"
    return " or ".join(names[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds))


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if value is None or value is PydanticUndefined or isinstance(value, BaseModel) or value in ({}, (), []):
        return ""
    return f"`{json.dumps(value)}`"
