"""What is wrong with a recipe: sentences that point at a file, a line and a key."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

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
        return ": ".join(part for part in (where, self.key, self.message) if part)


class RecipeError(Exception):
    """A recipe cannot be used; carries every problem that was found, one line each."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def dotted(path: KeyPath) -> str:
    """Write a key path as people do: `roles.decode.args[0]`; empty for the document itself."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Find the candidate that a misspelt word most likely means; None when nothing is close."""
    found = difflib.get_close_matches(word, list(candidates), n=1, cutoff=0.6)
    return found[0] if found else None
