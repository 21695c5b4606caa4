"""The values of a grid: where each stands in the file, and where it is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from servesweep.recipe.located import Located, plain
from servesweep.recipe.problems import KeyPath, dotted

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")


@dataclass(frozen=True, slots=True)
class GridValue:
    """One value of a parameter of `sweep`.

    `list_line` and `count` are of the parameter's list, in which equal values count once; `places` are the
    keys whose value is the placeholder, `within` those with a longer text in which it is the only one.
    """

    parameter: str
    index: int
    value: Any = field(hash=False)
    line: int
    list_line: int
    count: int
    places: tuple[str, ...]
    within: tuple[str, ...]

    @property
    def key(self) -> str:
        """The key of the value in the file."""
        return f"sweep.{self.parameter}[{self.index}]"


def grid_values(sweep: Located, body: Located) -> list[list[GridValue]]:
    """The values of each parameter of a sound `sweep`, in order; `body` is the recipe without it."""
    places: dict[str, list[str]] = {name: [] for name in sweep.value}
    within: dict[str, list[str]] = {name: [] for name in sweep.value}
    for path, text in _texts(body, ()):
        names = {name for name in PLACEHOLDER.findall(text) if name in places}
        if len(names) == 1:
            name = names.pop()
            (places if text == f"{{{name}}}" else within)[name].append(dotted(path))
    # Of configurations that are equal there is one.
    counts = {name: len(set(map(repr, plain(given)))) for name, given in sweep.value.items()}
    return [
        [
            GridValue(
                name, i, plain(v), v.line, given.line, counts[name],
                tuple(places[name]), tuple(within[name]),
            )
            for i, v in enumerate(given.value)
        ]
        for name, given in sweep.value.items()
    ]  # fmt: skip


def _texts(node: Located, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(node.value, dict | list):
        items = node.value.items() if isinstance(node.value, dict) else enumerate(node.value)
        for key, item in items:
            yield from _texts(item, (*path, key))
    elif isinstance(node.value, str) and "{" in node.value:
        yield path, node.value
