"""From YAML nodes to plain data with lines, by the YAML 1.2 core schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from operator import is_
from sys import intern
from typing import Any

import yaml

from servesweep.recipe.problems import KeyPath
from servesweep.recipe.secret_names import is_secret_name
from servesweep.recipe.written import as_written

# Aliases may repeat nodes; past these limits a file is an attack or an accident, not a recipe.
MAX_NODES = 200_000
MAX_DEPTH = 100

TAG = "tag:yaml.org,2002:"
STR, SEQ, MAP, MERGE = TAG + "str", TAG + "seq", TAG + "map", TAG + "merge"
INTEGER = TAG + "int"
BASES = {"0x": "hexadecimal", "0o": "octal"}
NULL = re.compile(r"~|null|Null|NULL|")
BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
# (line, key path, sentence)
Fault = tuple[int, KeyPath, str]

_Base: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


@lru_cache(maxsize=20_000)
def _tag(kind: Any, value: Any, implicit: Any) -> str:
    """The tag of a node; scalars are few words often repeated, so theirs are remembered."""
    if kind is yaml.ScalarNode:
        return plain_tag(value) if implicit[0] else STR
    return SEQ if kind is yaml.SequenceNode else MAP


class CoreLoader(_Base):  # type: ignore[misc]
    """libyaml's parser with the types of the YAML 1.2 core schema (https://yaml.org/spec/1.2.2/#103-core-schema)."""

    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 - PyYAML's own protocol

    # They are called at every node. The resolver's own would look for path resolvers, but none are there: so
    # there is nothing to follow either, and the last two, of two arguments and of none, do nothing.
    resolve = staticmethod(_tag)
    descend_resolver = staticmethod(is_)
    ascend_resolver = staticmethod(bool)


for _name, _pattern, _first in (
    ("null", NULL, ["~", "n", "N", ""]),
    ("bool", BOOL, list("tTfF")),
    ("int", INT, list("-+0123456789")),
    ("float", FLOAT, list("-+0123456789.")),
    # Not in 1.2, but recipes use it.
    ("merge", re.compile("<<"), ["<"]),
):
    CoreLoader.add_implicit_resolver(TAG + _name, re.compile(rf"(?:{_pattern.pattern})\Z"), _first)


@lru_cache(maxsize=20_000)
def plain_tag(value: str) -> str:
    """The tag of a scalar without quotes."""
    for tag, pattern in CoreLoader.yaml_implicit_resolvers.get(value[:1], ()):
        if pattern.match(value):
            return str(tag)
    return STR


def compose(text: str) -> yaml.Node | None:
    """Compose the one document of a text; None when it is empty.

    Raises:
        yaml.YAMLError: when it is no YAML, or more than one document.
    """
    loader = CoreLoader(text)
    try:
        node: yaml.Node | None = loader.get_single_node()
        return node
    finally:
        loader.dispose()


def _integer(text: str) -> int:
    if text.startswith("0o"):
        return int(text[2:], 8)
    return int(text, 16) if text.startswith("0x") else int(text)


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


SCALARS: dict[str, tuple[re.Pattern[str], Callable[[str], Any]]] = {
    TAG + "null": (NULL, lambda text: None),
    TAG + "bool": (BOOL, lambda text: text.lower() == "true"),
    TAG + "int": (INT, _integer),
    TAG + "float": (FLOAT, _float),
    STR: (re.compile(r"(?s).*"), str),
    MERGE: (re.compile(r"(?s).*"), str),
}


@lru_cache(maxsize=20_000)
def _scalar(tag: str, text: str) -> Any:
    """The value of a scalar; recipes repeat few numbers often.

    Raises:
        ValueError: where the text is none of the tag's, or a number of more digits than Python reads.
    """
    pattern, build = SCALARS[tag]
    if not pattern.fullmatch(text):
        raise ValueError
    built = build(text)
    return as_written(built, text) if built.__class__ is int or built.__class__ is float else built


@dataclass
class Built:
    """Data of a node, the line of every key path in it, and what is wrong with it; not whole if too large."""

    data: Any = None
    lines: dict[KeyPath, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    whole: bool = True


def construct(node: yaml.Node) -> Built:
    """Build plain data (dict, list, str, int, float, bool, None) from a composed node."""
    builder = _Builder()
    builder.lines[()] = node.start_mark.line + 1
    data = builder.value(node, ())
    return Built(data, builder.lines, builder.faults, builder.count < MAX_NODES)


class _Builder:
    def __init__(self) -> None:
        self.lines: dict[KeyPath, int] = {}
        self.faults: list[Fault] = []
        self.count = 0
        self.open: list[int] = []

    def fault(self, node: yaml.Node, path: KeyPath, message: str) -> None:
        self.faults.append((node.start_mark.line + 1, path, message))

    def affordable(self, node: yaml.Node, path: KeyPath) -> bool:
        """Whether there is room for what a block holds."""
        before = self.count
        self.count += len(node.value)
        if before < MAX_NODES <= self.count:
            self.fault(node, path, f"the aliases of this file expand to more than {MAX_NODES} values")
        return self.count < MAX_NODES

    def value(self, node: yaml.Node, path: KeyPath) -> Any:
        if node.__class__ is yaml.ScalarNode:
            # Most are text, and text needs no pattern; one object for all places of a word saves much memory.
            return intern(node.value) if node.tag == STR else self.scalar(node, path)
        if not self.affordable(node, path):
            return None
        if id(node) in self.open:
            self.fault(node, path, "an alias here refers to a block that contains it")
            return None
        if len(self.open) >= MAX_DEPTH:
            self.fault(node, path, f"blocks are nested more than {MAX_DEPTH} deep")
            return None
        self.open.append(id(node))
        try:
            if isinstance(node, yaml.SequenceNode) and node.tag == SEQ:
                return self.sequence(node, path)
            if isinstance(node, yaml.MappingNode) and node.tag == MAP:
                return self.mapping(node, path)
        finally:
            self.open.pop()
        self.fault(node, path, f"the tag {node.tag.removeprefix(TAG)} is not supported")
        return None

    def scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Any:
        if node.tag not in SCALARS:
            self.fault(node, path, f"the tag {node.tag.removeprefix(TAG)} is not supported")
            return None
        try:
            built = _scalar(node.tag, node.value)
        except ValueError:
            shown = "this secret" if _secret(path) else repr(node.value[:40])
            self.fault(node, path, f"{shown} cannot be read as {node.tag.removeprefix(TAG)}")
            return None
        if node.tag == INTEGER and (base := BASES.get(node.value[:2])):
            # A person who writes 0x4 where 1x4 may stand does not mean this number.
            self.fault(node, path, _misread(node.value, base, built, secret=_secret(path)))
        return built

    def sequence(self, node: yaml.SequenceNode, path: KeyPath) -> list[Any]:
        items = []
        for index, item in enumerate(node.value):
            at = (*path, index)
            self.lines[at] = item.start_mark.line + 1
            items.append(self.value(item, at))
        return items

    def mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        pairs = self.enclosed(node, path)
        if any(key_node.tag == MERGE for key_node, _ in pairs):
            pairs = self.expanded(pairs, path)
        data: dict[str, Any] = {}
        for key_node, value_node in pairs:
            key = self.key(key_node, path)
            if key is None:
                continue
            at = (*path, key)
            if key in data:
                self.fault(key_node, at, f"duplicate key, first given on line {self.lines[at]}")
                continue
            self.lines[at] = key_node.start_mark.line + 1
            data[key] = self.value(value_node, at)
        return data

    def expanded(
        self, pairs: list[tuple[yaml.Node, yaml.Node]], path: KeyPath
    ) -> list[tuple[yaml.Node, yaml.Node]]:
        """The pairs with those of `<<`, in whose places a mapping's own of the same key stand."""
        found: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key_node, value_node in pairs:
            if key_node.tag == MERGE:
                for name, pair in self.merged(value_node, path):
                    found.setdefault(name, pair)
        others = []
        own: set[str] = set()
        for pair in pairs:
            key_node = pair[0]
            key = key_node.value if key_node.__class__ is yaml.ScalarNode else None
            if key_node.tag == STR and key in found and key not in own:
                own.add(key)
                found[key] = pair
            elif key_node.tag != MERGE:
                others.append(pair)
        return [*found.values(), *others]

    def enclosed(self, node: yaml.MappingNode, path: KeyPath) -> list[tuple[yaml.Node, yaml.Node]]:
        """The pairs of a mapping without the numbers of a list that lacks its brackets.

        In `{levels: 4,16,64}` the first comma ends the value, and 16 and 64 are keys to YAML.
        """
        pairs: list[tuple[yaml.Node, yaml.Node]] = node.value
        if not node.flow_style:
            return pairs
        kept: list[tuple[yaml.Node, yaml.Node]] = []
        loose: dict[int, list[str]] = {}
        for key, value in pairs:
            if kept and _number(key) and _absent(value) and kept[-1][0].tag == STR and _number(kept[-1][1]):
                loose.setdefault(len(kept) - 1, []).append(key.value)
            else:
                kept.append((key, value))
        for place, items in loose.items():
            key, value = kept[place]
            self.fault(key, (*path, key.value), _unbracketed(key.value, [value.value, *items]))
        return kept

    def key(self, node: yaml.Node, path: KeyPath) -> str | None:
        if node.__class__ is not yaml.ScalarNode:
            self.fault(node, path, "a key is a list or a mapping; write plain text")
            return None
        if node.tag == STR:
            return intern(node.value)
        kind, shown = node.tag.removeprefix(TAG), node.value or '""'
        told = f'this key reads as {kind}, not as text; write it in quotes: "{node.value}"'
        self.fault(node, (*path, shown), told)
        return None

    def merged(self, node: yaml.Node, path: KeyPath) -> Iterator[tuple[str, tuple[yaml.Node, yaml.Node]]]:
        """Yield the pairs of `<<`, earlier sources first, a source's own keys before those it merges."""
        if id(node) in self.open or len(self.open) >= MAX_DEPTH:
            self.fault(node, (*path, "<<"), "`<<` refers to a block that contains it")
        elif isinstance(node, yaml.MappingNode):
            self.open.append(id(node))
            yield from self.merged_pairs(node, path)
            self.open.pop()
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                if isinstance(item, yaml.MappingNode):
                    yield from self.merged(item, path)
                else:
                    self.fault(item, (*path, "<<"), "`<<` takes a mapping or a list of mappings")
        else:
            self.fault(node, (*path, "<<"), "`<<` takes a mapping or a list of mappings")

    def merged_pairs(
        self, node: yaml.MappingNode, path: KeyPath
    ) -> Iterator[tuple[str, tuple[yaml.Node, yaml.Node]]]:
        inner = []
        if not self.affordable(node, path):
            return
        for key_node, value_node in node.value:
            if key_node.tag == MERGE:
                inner.append(value_node)
            elif (key := self.key(key_node, path)) is not None:
                yield key, (key_node, value_node)
        for value_node in inner:
            yield from self.merged(value_node, path)


def _misread(text: str, base: str, number: object, *, secret: bool) -> str:
    if secret:
        return f"YAML reads this secret as a number ({base}): write it in quotes"
    told = f"YAML reads {text} as the {base} number {number}"
    return f'{told}: write {number}, or "{text}" in quotes where text is meant'


def _secret(path: KeyPath) -> bool:
    return any(isinstance(name, str) and is_secret_name(name) for name in path)


def _number(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag in (INTEGER, TAG + "float")


def _absent(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.tag == TAG + "null" and not node.value


def _unbracketed(key: str, items: list[str]) -> str:
    text = f", or {'x'.join(items)}" if key == "concurrencies" else ""
    told = ", ".join(items)
    return f"inside {{ }} a comma ends the value, so {told} is no list: write [{told}]{text}"
