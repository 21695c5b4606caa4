"""A simulator as a child process: what tests and demonstrations start and end."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

_LISTENING = re.compile(r"simulator listening on (?P<url>\S+) with ")


@dataclass(frozen=True, slots=True)
class SimulatorProcess:
    """A simulator that listens at `url`; its stderr goes to a temporary file."""

    url: str
    process: subprocess.Popen[str]
    stderr_file: IO[str]

    @property
    def port(self) -> int:
        """Port that the simulator listens on."""
        return int(self.url.rsplit(":", 1)[1])

    def stderr(self) -> str:
        """Give everything written to stderr so far."""
        self.stderr_file.seek(0)
        return self.stderr_file.read()


@contextmanager
def running_simulator(*arguments: str) -> Iterator[SimulatorProcess]:
    """Run a simulator with these command-line arguments, on a free port unless they name one.

    It listens when the block starts (it may still be starting up) and is gone when the block ends.
    Raises RuntimeError, with what it wrote to stderr, when it ends before it listens.
    """
    argv = [sys.executable, "-m", "servesweep.simulator", "--port", "0", *arguments]
    with (
        tempfile.TemporaryFile("w+") as stderr,
        subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            listening = _LISTENING.match(process.stdout.readline())
            if listening is None:
                code = process.wait()
                stderr.seek(0)
                raise RuntimeError(f"the simulator ended with exit code {code}: {stderr.read().strip()}")
            yield SimulatorProcess(listening["url"], process, stderr)
        finally:
            _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """Ask a process to end, and make it end when it does not."""
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
