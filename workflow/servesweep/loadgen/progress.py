"""Shows how far a running point is: a small file rewritten each second and a line on stderr each 5 s."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from pathlib import Path

from servesweep.loadgen.board import Board
from servesweep.loadgen.files import write_atomically

LINE_S = 5.0


class Progress:
    """Progress of one point; `output_tok_s` is the rate of content chunks since the last look."""

    def __init__(self, path: Path, point: str, board: Board) -> None:
        self._path, self._point, self._board = path, point, board
        self._phase, self._asked = "prepare", 0
        self._started = self._looked = self._said = time.monotonic()
        self._chunks = 0

    def start(self, phase: str, asked: int) -> None:
        """A phase of `asked` requests begins."""
        self._phase, self._asked, self._chunks = phase, asked, 0
        self._started = self._looked = self._said = time.monotonic()
        self._write(0, 0, 0.0)

    def tick(self) -> None:
        """Look at the board, rewrite the file, perhaps print a line."""
        counts, now = self._board.total(), time.monotonic()
        rate = (counts.chunks - self._chunks) / max(now - self._looked, 1e-9)
        self._looked, self._chunks = now, counts.chunks
        self._write(counts.completed + counts.failed, counts.failed, rate)
        if now - self._said >= LINE_S:
            self._said = now
            print(
                f"{self._point} {self._phase}: {counts.completed + counts.failed}/{self._asked} requests, "
                f"{counts.failed} failed, {rate:.0f} tok/s, {now - self._started:.0f} s",
                file=sys.stderr,
                flush=True,
            )

    def end(self) -> None:
        """The point is over: remove the file."""
        self._path.unlink(missing_ok=True)

    def _write(self, done: int, failed: int, rate: float) -> None:
        fields = {
            "point": self._point,
            "phase": self._phase,
            "done": done,
            "asked": self._asked,
            "failed": failed,
            "elapsed_s": round(time.monotonic() - self._started, 1),
            "output_tok_s": round(rate, 1),
        }
        # No point fails because a disk is too full to show how far it is.
        with contextlib.suppress(OSError):
            write_atomically(self._path, json.dumps(fields) + "\n")
