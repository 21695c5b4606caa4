"""Two nested values compared key by key."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
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
        if _are_words(self.before) and _are_words(self.after):
            return f"{self.key}: {'; '.join(_moved(self.before, self.after))}"
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


def _are_words(value: Any) -> bool:
    """Whether it is a command line, of which a reader wants what changed alone."""
    return isinstance(value, list) and all(isinstance(v, str) for v in value) and len(_text(value)) > LONGEST


def _moved(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Each run of words that differs; behind its option, where it is a value of one."""
    for what, i, j, k, m in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        of_option = i and before[i - 1].startswith("-") and not (before[i:j] or after[k:m])[0].startswith("-")
        option = before[i - 1 : i] if of_option else []
        sides = [" ".join([*option, *words]) for words in (before[i:j], after[k:m])]
        if i == j:
            yield f"only after: {_told(sides[1])}"
        elif k == m:
            yield f"only before: {_told(sides[0])}"
        else:
            yield f"{_told(sides[0])} -> {_told(sides[1])}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _told(value: Any) -> str:
    text = _text(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
