"""How many client processes a load needs, and how they share it."""

from __future__ import annotations

import math
import os

from servesweep.loadgen.spec import LoadSpec

IN_FLIGHT_PER_PROCESS = 128
TOKENS_PER_S_PER_PROCESS = 20_000.0
USUAL_OSL = 512
"""Output length where the file of prompts decides, for the number of client processes alone."""


def process_count(spec: LoadSpec, cpus: int | None = None) -> int:
    """Client processes for this load: the asked number, else one for each 128 in flight or 20,000 tok/s.

    Never more than the CPUs this process may use, the concurrency or the prompts: each process has at
    least one slot. A core takes in about 60,000 separate chunks a second; a third of that keeps timing exact.
    """
    most = min(spec.num_prompts, spec.concurrency or spec.num_prompts)
    if spec.processes is not None:
        return min(spec.processes, most)
    wanted = math.ceil(spec.concurrency / IN_FLIGHT_PER_PROCESS) if spec.concurrency else 1
    if math.isfinite(spec.request_rate):
        by_rate = math.ceil(spec.request_rate * (spec.osl or USUAL_OSL) / TOKENS_PER_S_PER_PROCESS)
        wanted = max(by_rate, 1) if spec.concurrency is None else min(wanted, max(by_rate, 1))
    usable = cpus if cpus is not None else len(os.sched_getaffinity(0))
    return max(1, min(wanted, usable, most))


def shares(total: int, parts: int) -> list[int]:
    """Split `total` slots into `parts` whole shares that sum to it and differ by at most one."""
    return [total // parts + (rank < total % parts) for rank in range(parts)]
