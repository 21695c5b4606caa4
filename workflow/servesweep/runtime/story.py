"""The story of a run: one line a happening, on the terminal and in the log."""

from __future__ import annotations

import contextlib
import sys
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TextIO


class Story:
    """Called with a line, tells it everywhere; a terminal that is gone, or a full disk, does not matter."""

    def __init__(self, name: str, log: Path | None) -> None:
        self._name, self._path = name, log
        self._log: TextIO | None = None

    def __enter__(self) -> Story:
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._log = self._path.open("a", buffering=1)
            except OSError as error:
                self(f"no log is kept: {self._path}: {error.strerror}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._log is not None:
            with contextlib.suppress(OSError):
                self._log.close()

    def __call__(self, line: str) -> None:
        """Tell one line."""
        now = datetime.now().strftime("%H:%M:%S")
        _tell(self._log, f"{now} {line}\n")
        _tell(sys.stderr, f"{now} {self._name}: {line}\n")


def _tell(place: TextIO | None, text: str) -> None:
    # A closed stream is a ValueError, a terminal that hung up an OSError.
    with contextlib.suppress(OSError, ValueError):
        if place is not None:
            place.write(text)
            place.flush()
