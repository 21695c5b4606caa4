"""Watching logs for lines after which an engine never becomes ready; what was read is not read again."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from servesweep.runtime.excerpt import excerpt

# A progress bar may write for hours without an end of a line.
LONGEST_LINE = 64 * 1024
LONGEST_EXCERPT = 300
AT_ONCE = 1 << 20
ENDS = re.compile(rb"[\r\n]+")


@dataclass
class _Read:
    """How far a log was read."""

    inode: int
    offset: int = 0
    begun: bytes = b""
    """The last line, which has no end yet."""


class FatalLines:
    """Looks at logs again and again for the first line that matches one of the patterns."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._wanted = re.compile("|".join(f"(?:{pattern})" for pattern in patterns)) if patterns else None
        self._read: dict[Path, _Read] = {}

    def first(self, log: Path) -> str | None:
        """The first such line among those written since the last look; None where there is none.

        A line without its end counts too: whoever wrote it may hang. A log that was replaced by another one,
        or cut, is read from its beginning.
        """
        if self._wanted is None:
            return None
        try:
            with log.open("rb") as file:
                there = os.fstat(file.fileno())
                read = self._read.get(log)
                if read is None or read.inode != there.st_ino or read.offset > there.st_size:
                    read = self._read[log] = _Read(there.st_ino)
                file.seek(read.offset)
                while piece := file.read(AT_ONCE):
                    read.offset += len(piece)
                    if line := self._search(read, piece):
                        return line
        except OSError:
            return None
        return None

    def _search(self, read: _Read, piece: bytes) -> str | None:
        assert self._wanted is not None
        *whole, read.begun = ENDS.split(read.begun + piece)
        for raw in (*whole, read.begun):
            line = raw.decode(errors="replace")
            if self._wanted.search(line):
                return excerpt(line.strip(), LONGEST_EXCERPT)
        read.begun = read.begun[-LONGEST_LINE:]
        return None
