"""What failed first, with the evidence that a reader needs."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field

from servesweep.topology.deployment import Value

TAIL_LINES = 50
# What srun (22.05) prints, and ends with 0, where slurmctld takes a node for dead.
NODE_FAILURE = re.compile(r"srun: error: Node failure on (\S+)")


class Failure(Value):
    """What failed first, with the evidence that a reader needs."""

    stage: str = Field(
        description="allocation, hosts, services, workers, frontend, health_gate or benchmark."
    )
    message: str = Field(description="One sentence.")
    step: str | None = Field(default=None, description="Process that failed.")
    node: str | None = Field(default=None, description="Host on which it ran.")
    exit_code: int | None = Field(default=None, description="Its exit code.")
    signal: str | None = Field(default=None, description="Signal that ended it.")
    log: str | None = Field(default=None, description="Its log, relative to the configuration's directory.")
    tail: tuple[str, ...] = Field(default=(), description="The last lines of the log.")
    at: str = Field(
        default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"), description="UTC time."
    )


def tail(log: Path, lines: int = TAIL_LINES) -> tuple[str, ...]:
    """The last lines of a log; empty where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 64 * 1024))
            return tuple(file.read().decode(errors="replace").splitlines()[-lines:])
    except OSError:
        return ()


def exit_code(code: int) -> int:
    """The code of a process as a shell tells it: 128 + n after the signal n."""
    return 128 - code if code < 0 else code


def signal_name(code: int) -> str | None:
    """Name of the signal behind an exit code; srun and shells report it as 128 + n."""
    number = -code if code < 0 else code - 128 if code > 128 else 0
    try:
        return signal.Signals(number).name if number else None
    except ValueError:
        return None


def how_it_ended(code: int, told: Iterable[str] = ()) -> str:
    """In words: `was ended by SIGKILL`, `exited with code 7`, or what srun told of a node at its end."""
    for line in told:
        if lost := NODE_FAILURE.fullmatch(line):
            return f"is lost: node {lost.group(1)} has failed"
    died = signal_name(code)
    return f"was ended by {died}" if died else f"exited with code {code}"
