"""What must not be read is made unreadable in all that a run leaves."""

from __future__ import annotations

import os
from collections.abc import Iterable

from servesweep.recipe.secret_names import REDACTED, is_distinct, variables_in

SHORTEST = 6


class Blot:
    """Makes values unreadable in a text."""

    def __init__(self, values: Iterable[str]) -> None:
        known = {value for value in values if len(value) >= SHORTEST}
        self.values = sorted(known, key=len, reverse=True)
        self.searched = [value.encode("utf-8", "surrogateescape") for value in self.values]

    @classmethod
    def of(cls, values: Iterable[str]) -> Blot:
        """For the secrets of a run, and those of the environment around it."""
        return cls([*values, *variables_in(os.environ).values()])

    def distinct(self) -> Blot:
        """The one for what programs read, which loses only what cannot be an ordinary word."""
        return Blot(filter(is_distinct, self.values))

    def __call__(self, text: str) -> str:
        """The text without the values."""
        for value in self.values:
            text = text.replace(value, REDACTED)
        return text

    def in_bytes(self, content: bytes) -> bytes:
        """The text of a file, of whatever encoding, without the values."""
        for value in self.searched:
            content = content.replace(value, REDACTED.encode())
        return content

    def finds(self, content: bytes) -> bool:
        """Whether any of the values is in it."""
        return any(value in content for value in self.searched)
