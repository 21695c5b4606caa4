"""An earlier run of the same configuration that is still alive is ended first, or wins over us.

A controller that was killed leaves its jobs behind. Two supervisors must never write to one
configuration, and on one machine never measure at the same time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from servesweep.evidence.files import RunFiles
from servesweep.runtime.allocation import Allocation
from servesweep.runtime.processes import Supervising, end_marked, start_time, supervisors

LIVE_STATES = {"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"}
GRACE_SECONDS = 60.0
POLL_SECONDS = 0.3


class SupersededError(Exception):
    """A later submission already runs this configuration; its text is one sentence."""


async def take_over(files: RunFiles, mine: Allocation, say: Callable[[str], None]) -> None:
    """End earlier runs that are still alive: of this configuration, and on one machine of its siblings.

    Raises:
        SupersededError: where the other run is the later one, or cannot be ended from here.
    """
    if mine.launcher == "slurm":
        await _end_job(files, mine, say)
    else:
        await _end_local_runs(files.root.parent, say)


async def _end_job(files: RunFiles, mine: Allocation, say: Callable[[str], None]) -> None:
    other = _read(files.allocation)
    if other is None or other.job_id in (None, mine.job_id) or not _job_lives(str(other.job_id)):
        return
    if int(str(other.job_id)) > int(str(mine.job_id)):
        raise SupersededError(f"job {other.job_id}, submitted later, already runs this configuration")
    say(f"job {other.job_id} of an earlier controller still runs this configuration: cancelling it")
    subprocess.run(["scancel", str(other.job_id)], check=False, capture_output=True)
    if not await _within_grace(lambda: not _job_lives(str(other.job_id))):
        raise SupersededError(f"job {other.job_id} does not end")


def _read(path: Path) -> Allocation | None:
    try:
        return Allocation.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _job_lives(job: str) -> bool:
    shown = subprocess.run(
        ["squeue", "--noheader", f"--jobs={job}", "--format=%T"], capture_output=True, text=True, check=False
    )
    return bool(set(shown.stdout.split()) & LIVE_STATES)


async def _end_local_runs(results: Path, say: Callable[[str], None]) -> None:
    me = (start_time(os.getpid()) or 0, os.getpid())
    for other in supervisors(results):
        if (other.started, other.pid) > me:
            raise SupersededError(
                f"process {other.pid}, started later, already runs {other.directory.name} on this machine"
            )
        await _end_process(other, say)
    # A supervisor that was killed itself could not end what it had started.
    left = end_marked(results.resolve())
    if left:
        say(f"ended {left} process{'es' if left > 1 else ''} that an earlier run had left behind")


async def _end_process(other: Supervising, say: Callable[[str], None]) -> None:
    say(f"process {other.pid} of an earlier controller still runs {other.directory.name}: ending it")
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(other.pid, number)
        if await _within_grace(lambda: start_time(other.pid) != other.started):
            return
    raise SupersededError(f"process {other.pid}, which runs {other.directory.name}, does not end")


async def _within_grace(done: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + GRACE_SECONDS
    while not done():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True
