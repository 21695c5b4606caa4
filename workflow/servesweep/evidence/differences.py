"""Two nested values compared key by key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ABSENT = object()
LONGEST = 60


@dataclass(frozen=True)
class Difference:
    """A key path with what stands there on either side; ABSENT where nothing does."""

    key: str
    before: Any
    after: Any

    def __str__(self) -> str:
        if self.before is ABSENT:
            return f"{self.key}: only after: {_told(self.after)}"
        if self.after is ABSENT:
            return f"{self.key}: only before: {_told(self.before)}"
        return f"{self.key}: {_told(self.before)} -> {_told(self.after)}"


def differences(before: Any, after: Any, key: str = "") -> Iterator[Difference]:
    """Every key whose values differ, in the order of `before`, then what only `after` has.

    Lists of plain texts are sets: packages are told one by one. Other lists are compared place by place.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys([*before, *after]):
            below = f"{key}.{name}" if key else str(name)
            yield from differences(before.get(name, ABSENT), after.get(name, ABSENT), below)
    elif _are_packages(before) and _are_packages(after):
        yield from differences(_by_name(before), _by_name(after), key)
    elif isinstance(before, list) and isinstance(after, list) and _nested(before, after):
        for at in range(max(len(before), len(after))):
            old, new = (side[at] if at < len(side) else ABSENT for side in (before, after))
            yield from differences(old, new, f"{key}[{at}]")
    elif before is ABSENT or after is ABSENT or before != after:
        yield Difference(key, before, after)


def _are_packages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) and "==" in v for v in value)


def _by_name(packages: list[str]) -> dict[str, str]:
    return dict(word.partition("==")[::2] for word in packages)


def _nested(*sides: list[Any]) -> bool:
    return any(isinstance(item, dict | list) for side in sides for item in side)


def _told(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
