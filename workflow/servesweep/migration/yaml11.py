"""v1 read YAML 1.1: its `yes`, `on` and `012` are spelled so that YAML 1.2 reads the same."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from servesweep.migration.reading import Loader
from servesweep.recipe.composing import STR, plain_tag

PLAIN_BOOL = ("true", "false")


def spell_out(text: str) -> str:
    """Rewrite the plain values that YAML 1.2 reads as something else; time limits keep their colons."""
    lines = text.split("\n")
    found = list(_scalars(yaml.compose(text, Loader=Loader), "", set()))
    for node, key in sorted(found, key=lambda pair: _place(pair[0]), reverse=True):
        spelling = _spelling(node, key)
        line, first, last = node.start_mark.line, node.start_mark.column, node.end_mark.column
        if spelling is not None and lines[line][:last].endswith(node.value):
            first = last - len(node.value)
            lines[line] = lines[line][:first] + spelling + lines[line][last:]
    return "\n".join(lines)


def _place(node: yaml.ScalarNode) -> tuple[int, int]:
    return node.start_mark.line, node.start_mark.column


def _scalars(node: yaml.Node | None, key: str, seen: set[int]) -> Iterator[tuple[yaml.ScalarNode, str]]:
    """Yield the plain scalars that are values, each with its key."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from _scalars(value, str(name.value), seen)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _scalars(item, key, seen)
    elif isinstance(node, yaml.ScalarNode) and not node.style and node.start_mark.line == node.end_mark.line:
        yield node, key


def _spelling(node: yaml.ScalarNode, key: str) -> str | None:
    kind, text = node.tag.rpartition(":")[2], node.value
    if kind == "bool" and text.lower() not in PLAIN_BOOL:
        return str(yaml.load(text, Loader=Loader)).lower()
    if kind == "str" and plain_tag(text) != STR:
        # `1e5`, `09` and `0o17` are text in 1.1 and numbers in 1.2.
        return f'"{text}"'
    octal = text.lstrip("+-").startswith("0") and len(text.lstrip("+-")) > 1
    if kind == "int" and key != "time_limit" and (octal or ":" in text or "_" in text):
        return str(yaml.load(text, Loader=Loader))
    return None
