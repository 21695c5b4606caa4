"""Streams of a sweep that goes on when nobody reads them any more: `snakemake … | head`, a closed window.

Snakemake (9.27, `ColorizingTextHandler.emit`) lets a broken pipe through to whoever told it something: to the
thread that hears of a finished job, which then waits for ever, or to the one that would cancel Slurm's jobs.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO, TypeVar

# A pipe without a reader, a terminal that hung up.
NOBODY_READS = (errno.EPIPE, errno.EIO)

T = TypeVar("T")


class Unbroken:
    """A text stream whose writing never fails; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, to nowhere where nobody reads; what a full disk refuses is lost."""
        return self._done(lambda: self._stream.write(text), len(text))

    def flush(self) -> None:
        """Flush what can be."""
        self._done(self._stream.flush, None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _done(self, act: Callable[[], T], otherwise: T) -> T:
        try:
            return act()
        except OSError as error:
            if error.errno in NOBODY_READS:
                # Programs that are started from here on write there, too, and what is buffered is rid of.
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self._stream.fileno())
                os.close(nowhere)
            return otherwise


def keep_unbroken(handlers: Iterable[logging.Handler] = ()) -> None:
    """Make the standard streams, and handlers that write to them, unbroken."""
    streams: dict[TextIO, Any] = {stream: Unbroken(stream) for stream in (sys.stdout, sys.stderr)}
    for handler in handlers:
        if isinstance(handler, logging.StreamHandler) and handler.stream in streams:
            handler.setStream(streams[handler.stream])
    sys.stdout, sys.stderr = streams[sys.stdout], streams[sys.stderr]
