"""A few numbers that all processes of one measurement share through a memory-mapped file."""

from __future__ import annotations

import fcntl
import mmap
from pathlib import Path
from typing import NamedTuple

_FIELDS = 3
_WIDTH = 8


class Counts(NamedTuple):
    """Requests answered, requests failed and output chunks received so far in this phase."""

    completed: int
    failed: int
    chunks: int


class Board:
    """Hands out request numbers, each exactly once, and carries each process's counts to the parent.

    Numbers are taken, not dealt beforehand, so that no process idles while another has requests left. Cell 0
    is the next number; then three cells for each process.
    """

    def __init__(self, path: Path, processes: int) -> None:
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), (1 + _FIELDS * processes) * _WIDTH)
        self._cells = memoryview(self._map).cast("q")
        self._processes = processes

    @classmethod
    def create(cls, path: Path, processes: int) -> Board:
        """Make the file, all zero, and open it."""
        path.write_bytes(bytes((1 + _FIELDS * processes) * _WIDTH))
        return cls(path, processes)

    def reset(self) -> None:
        """Start a phase: number 0 is next and nothing has been counted."""
        for cell in range(len(self._cells)):
            self._cells[cell] = 0

    def take(self, count: int) -> int | None:
        """The next request number below `count`, or None when all have been taken."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            number = self._cells[0]
            if number >= count:
                return None
            self._cells[0] = number + 1
            return number
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)

    def publish(self, rank: int, counts: Counts) -> None:
        """Show the counts of process `rank` to the others."""
        start = 1 + _FIELDS * rank
        for offset, value in enumerate(counts):
            self._cells[start + offset] = value

    def total(self) -> Counts:
        """Counts summed over all processes."""
        sums = [sum(self._cells[1 + offset :: _FIELDS].tolist()) for offset in range(_FIELDS)]
        return Counts(*sums)

    def close(self) -> None:
        """Let go of the file."""
        self._cells.release()
        self._map.close()
        self._file.close()
