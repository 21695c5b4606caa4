"""The Snakemake of the gate and the points, loaded while everything before them is prepared.

To load it takes as long as a small model does. This module is a part of that time, and loads little itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from servesweep.runtime.death_signal import die_with_parent
from servesweep.runtime.environment import base_environment

PRELOADED = Path(__file__).parents[2] / "allocation" / "preloaded.py"
TERM_GRACE_SECONDS = 5.0


class Preloaded:
    """One Snakemake in a session of its own; within `with`, at whose end it is over.

    Raises:
        OSError: where the process cannot be started.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PRELOADED)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=base_environment(),
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        self._over = False

    def __enter__(self) -> Preloaded:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def begin(self, words: Sequence[str], log: Path) -> None:
        """Have Snakemake do what its words say, in this process's environment; the log is appended to.

        Raises:
            OSError: where the log cannot be written.
        """
        # Here it can be told why; Snakemake itself would only be gone.
        log.open("ab").close()
        order = {"words": list(words), "log": str(log), "environment": base_environment()}
        assert self._process.stdin is not None
        # One that could not be loaded has said so, and that it is over is seen where it is waited for.
        with contextlib.suppress(BrokenPipeError), self._process.stdin as told:
            told.write(f"{json.dumps(order)}\n".encode())

    def wait(self) -> int:
        """Wait for its end, on any thread; the exit code."""
        return self._process.wait()

    def end(self) -> None:
        """End it and what it has started: the client of a point is its child, so the whole session goes."""
        if self._over:
            return
        # The number is another's, some time after the process is gone.
        self._over = True
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(TERM_GRACE_SECONDS)
        assert self._process.stdin is not None
        self._process.stdin.close()
