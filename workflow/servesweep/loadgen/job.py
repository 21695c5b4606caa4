"""What a client process reads: the files in which the parent laid down ready-made request bodies.

Apart from their writing, so that a client process starts without the libraries that make prompts.
"""

from __future__ import annotations

import json
import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Phase = Literal["warmup", "measure"]


@dataclass(frozen=True, slots=True)
class PhaseJob:
    """The requests of one phase: bodies in a mapped file, lengths and arrival times in lists."""

    bodies: mmap.mmap | bytes
    starts: list[int]
    inputs: list[int]
    outputs: list[int]
    arrivals_s: list[float]

    @property
    def count(self) -> int:
        """Number of requests."""
        return len(self.inputs)

    def body(self, index: int) -> bytes:
        """Body of request `index`."""
        return self.bodies[self.starts[index] : self.starts[index + 1]]


@dataclass(frozen=True, slots=True)
class Job:
    """What one client process must know."""

    url: str
    timeout_s: float
    processes: int
    slots: list[int] | None
    """Most requests in flight of each process, None: no limit."""


def read_job(directory: Path) -> Job:
    """Read what `write_job` wrote."""
    return Job(**json.loads((directory / "job.json").read_text()))


def read_phase(directory: Path, phase: Phase) -> PhaseJob:
    """Map what `write_phase` wrote; the processes share one copy in memory."""
    index = json.loads((directory / f"{phase}.json").read_text())
    path = directory / f"{phase}.bodies"
    bodies: mmap.mmap | bytes = b""
    if path.stat().st_size:
        with path.open("rb") as file:
            bodies = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return PhaseJob(bodies, **index)
