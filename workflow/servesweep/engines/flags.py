"""From a mapping of arguments to a command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

TOPOLOGY = "servesweep sets this argument itself from the topology: remove it"


@lru_cache(maxsize=10_000)
def kebab(name: str) -> str:
    """One spelling for `mem_fraction_static` and `mem-fraction-static`."""
    return name.replace("_", "-")


def flags(args: Mapping[str, Any], spell: Callable[[str], str] = kebab) -> list[str]:
    """Render arguments, sorted by name.

    True is a bare flag, false and null are left out, a list gives several values.
    """
    words: list[str] = []
    for name in sorted(args, key=kebab):
        value = args[name]
        if value is None or value is False:
            continue
        words.append(f"--{spell(name)}")
        if value is True:
            continue
        words += [text(item) for item in (value if isinstance(value, list | tuple) else (value,))]
    return words


def text(value: Any) -> str:
    """One value as a word: a mapping is JSON."""
    return json.dumps(value, separators=(",", ":")) if value.__class__ is dict else str(value)


def owned(args: Iterable[str], reserved: Iterable[str]) -> list[str]:
    """The names in `args` that the product sets itself, in the order written."""
    taken = _spelt_alike(frozenset(reserved))
    return [name for name in args if kebab(name) in taken]


@lru_cache(maxsize=100)
def _spelt_alike(names: frozenset[str]) -> frozenset[str]:
    return frozenset(map(kebab, names))


def repeated(args: Iterable[str], full: Callable[[str], str] = kebab) -> list[tuple[str, str]]:
    """The names in `args` that an earlier one has already given by another name: (name, earlier).

    `full` gives the one name that several mean; by default they differ in their spelling alone.
    """
    seen: dict[str, str] = {}
    found = []
    for name in args:
        earlier = seen.setdefault(full(name), name)
        if earlier != name:
            found.append((name, earlier))
    return found


def named(words: Iterable[str]) -> list[str]:
    """The flags of a command line, without their dashes and values: `--port=1` is `port`."""
    return [word[2:].partition("=")[0] for word in words if word.startswith("--") and len(word) > 2]


def given(words: Iterable[str]) -> dict[str, str]:
    """The flags of a command line with their first value, or none: `--tp 4 --port=1 -x`; the last counts."""
    found: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("-") and not word.lstrip("-")[:1].isdigit():
            name, _, value = word.lstrip("-").partition("=")
            found[name] = value
        elif name:
            found[name] = found[name] or word
    return found
