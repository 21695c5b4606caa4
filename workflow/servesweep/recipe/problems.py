"""What is wrong with a recipe: sentences that point at a file, a line and a key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: the file, its 1-based line (None: the file as a whole), the dotted key, one sentence."""

    file: str
    line: int | None
    key: str
    message: str

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        line = ": ".join(part for part in (where, self.key, self.message) if part)
        # A key may hold anything, line breaks too; a problem is one line.
        return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in line)


class RecipeError(Exception):
    """A recipe cannot be used; carries every problem that was found, each once, one line each."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("\n".join(dict.fromkeys(map(str, self.problems))))


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Problems of one file by their lines, those of the file as a whole first."""
    return sorted(problems, key=lambda problem: problem.line or 0)


def dotted(path: KeyPath) -> str:
    """Write a key path as people do: `roles.decode.args[0]`; empty for the document itself."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def nearest(word: str, candidates: Iterable[str], *, surely: bool = False) -> str | None:
    """Find the candidate that a misspelt word most likely means; None when nothing is (surely) close."""
    known = list(candidates)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.85)
    if surely:
        return close[0] if close else None
    # `gsm8k-bench` means gsm8k, however many letters it shares with another.
    begun = [name for name in known if len(name) > 3 and word.startswith((f"{name}-", f"{name}_"))]
    found = close or begun or difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return found[0] if found else None


def similar(word: str, candidates: Iterable[str], count: int) -> list[str]:
    """The `count` candidates that resemble a word most, the best first."""
    known = list(candidates)
    return difflib.get_close_matches(word, known, n=count, cutoff=0.0)


def shown(value: Any) -> str:
    """What a person wrote, as a sentence quotes it: short, and containers by their kind alone."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    return repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."


def listed(words: Iterable[str], last: str = "and") -> str:
    """Join words as a sentence does: `prefill, decode and agg`."""
    *most, end = words
    return f"{', '.join(most)} {last} {end}" if most else end
