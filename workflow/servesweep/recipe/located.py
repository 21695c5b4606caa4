"""Data in which every value knows its key's line, so that merging keeps positions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from servesweep.recipe.problems import KeyPath
from servesweep.recipe.source import nearest_line


@dataclass(frozen=True, slots=True)
class Located:
    """A value and the line of its key; a mapping holds Located values, a list Located items."""

    value: Any
    line: int


def locate(data: Any, lines: Mapping[KeyPath, int], path: KeyPath = ()) -> Located:
    """Attach lines to the data that stands at `path`."""
    line = nearest_line(lines, path)
    if isinstance(data, dict):
        return Located({key: locate(item, lines, (*path, key)) for key, item in data.items()}, line)
    if isinstance(data, list):
        return Located([locate(item, lines, (*path, index)) for index, item in enumerate(data)], line)
    return Located(data, line)


def plain(node: Located) -> Any:
    """Drop the lines again."""
    if isinstance(node.value, dict):
        return {key: plain(item) for key, item in node.value.items()}
    if isinstance(node.value, list):
        return [plain(item) for item in node.value]
    return node.value


class LinesOf(Mapping[KeyPath, int]):
    """Line of every key path of a tree, looked up on demand: few variants are ever at fault."""

    def __init__(self, root: Located) -> None:
        self._root = root

    def __getitem__(self, path: KeyPath) -> int:
        node = self._root
        for step in path:
            below = _below(node)
            if step not in below:
                raise KeyError(path)
            node = below[step]
        return node.line

    def __iter__(self) -> Iterator[KeyPath]:
        return _paths(self._root, ())

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _below(node: Located) -> Mapping[str | int, Located]:
    if isinstance(node.value, list):
        return dict(enumerate(node.value))
    return node.value if isinstance(node.value, dict) else {}


def _paths(node: Located, path: KeyPath) -> Iterator[KeyPath]:
    yield path
    for step, item in _below(node).items():
        yield from _paths(item, (*path, step))


def merge(base: Located, over: Located) -> Located:
    """Lay `over` on `base`: mappings recursively, lists and scalars replace, null deletes the key."""
    if not isinstance(over.value, dict):
        return over
    merged = dict(base.value) if isinstance(base.value, dict) else {}
    for key, item in over.value.items():
        if item.value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key, Located(None, item.line)), item)
    return Located(merged, over.line)
