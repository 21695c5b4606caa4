"""From a mapping of arguments to a command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=10_000)
def kebab(name: str) -> str:
    """One spelling for `mem_fraction_static` and `mem-fraction-static`."""
    return name.replace("_", "-")


def flags(args: Mapping[str, Any]) -> list[str]:
    """Render arguments, sorted by name.

    True is a bare flag, false and null are left out, a list gives several values.
    """
    words: list[str] = []
    for name in sorted(args, key=kebab):
        value = args[name]
        if value is None or value is False:
            continue
        words.append(f"--{kebab(name)}")
        if value is True:
            continue
        words.extend(_text(item) for item in (value if isinstance(value, list | tuple) else [value]))
    return words


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")) if isinstance(value, dict) else str(value)


def owned(args: Iterable[str], reserved: Iterable[str]) -> list[str]:
    """The names in `args` that the product sets itself, in the order written."""
    taken = {kebab(name) for name in reserved}
    return [name for name in args if kebab(name) in taken]
