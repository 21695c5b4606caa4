"""A run that was replaced ends by itself.

Slurm takes a node that does not answer for dead and gives its work away, but a node that only lost its
network or its slurmd goes on, with everything that runs there. Its successor cannot reach it; the files
are the place where they meet.
"""

from __future__ import annotations

import asyncio

from servesweep.evidence.files import RunFiles
from servesweep.evidence.points import read_json
from servesweep.runtime.allocation import Allocation

POLL_SECONDS = 1.0
IDENTITY = ("job_id", "supervisor_host", "supervisor_pid", "started_at")


async def until_replaced(files: RunFiles, mine: Allocation) -> str:
    """Wait until allocation.json tells of another run; returns one sentence about it."""
    own = {name: getattr(mine, name) for name in IDENTITY}
    while True:
        await asyncio.sleep(POLL_SECONDS)
        told = read_json(files.allocation)
        if told and {name: told.get(name) for name in IDENTITY} != own:
            job, process = told.get("job_id"), told.get("supervisor_pid")
            by = f"job {job}" if job else f"process {process}"
            return f"{by} on {told.get('supervisor_host')} runs this configuration now"
