"""What must not be read is made unreadable in all that a run leaves."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from servesweep.recipe.secret_names import REDACTED, is_distinct, variables_in

SHORTEST = 6
CHUNK = 1 << 20


class Blot:
    """Makes values unreadable, in a line as in files.

    Logs are for people: there nothing is kept that might be a secret. What programs read loses only what
    cannot be an ordinary word.
    """

    def __init__(self, values: Iterable[str]) -> None:
        known = {value for value in values if len(value) >= SHORTEST}
        self.values = sorted(known, key=len, reverse=True)

    @classmethod
    def of(cls, values: Iterable[str]) -> Blot:
        """For the secrets of a run, and those of the environment around it."""
        return cls([*values, *variables_in(os.environ).values()])

    def __call__(self, text: str) -> str:
        """The text without the values."""
        for value in self.values:
            text = text.replace(value, REDACTED)
        return text

    def files(self, root: Path) -> None:
        """Blot out the values in the logs and points of a configuration; processes print what they get."""
        distinct = Blot(filter(is_distinct, self.values))
        for pattern, blot in (("run.log", self), ("logs*/**/*", self), ("points/**/*", distinct)):
            for path in root.glob(pattern) if blot.values else ():
                if path.is_file() and not path.is_symlink() and blot._found_in(path):
                    blot._rewrite(path)

    def _found_in(self, path: Path) -> bool:
        wanted = [value.encode() for value in self.values]
        overlap = max(map(len, wanted)) - 1
        rest = b""
        try:
            with path.open("rb") as file:
                while chunk := file.read(CHUNK):
                    rest += chunk
                    if any(value in rest for value in wanted):
                        return True
                    rest = rest[-overlap:] if overlap else b""
        except OSError:
            return False
        return False

    def _rewrite(self, path: Path) -> None:
        content = path.read_bytes()
        for value in self.values:
            content = content.replace(value.encode(), REDACTED.encode())
        # In the same file: a log that somebody follows stays the one that is followed.
        path.write_bytes(content)
