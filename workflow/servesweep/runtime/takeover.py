"""An earlier run of the same configuration that is still alive is ended first, or wins over us.

A controller that was killed leaves its jobs behind. Two supervisors must never write to one
configuration, and on one machine never measure at the same time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from servesweep.evidence.files import RunFiles
from servesweep.runtime.allocation import Allocation
from servesweep.runtime.processes import Supervising, end_marked, start_time, supervisors

GRACE_SECONDS = 60.0
POLL_SECONDS = 0.3
# A job's number, its directory, and its comment up to the first blank.
JOB_LINE = re.compile(r"^(\d+)\|([^|\n]*)\|([^ \n]*)", re.MULTILINE)


class SupersededError(Exception):
    """A later submission already runs this configuration; its text is one sentence."""


async def take_over(files: RunFiles, mine: Allocation, say: Callable[[str], None]) -> None:
    """End earlier runs that are still alive: of this configuration, and on one machine of its siblings.

    Raises:
        SupersededError: where the other run is the later one, or cannot be ended from here.
    """
    if mine.launcher == "slurm":
        await _end_jobs(files, mine, say)
    else:
        await _end_local_runs(files.root.parent, say)


async def _end_jobs(files: RunFiles, mine: Allocation, say: Callable[[str], None]) -> None:
    me = str(mine.job_id)
    # A heterogeneous job's components have numbers of their own, and our comment.
    others = (_submitted_for_the_same(me) | _recorded(files, me)) - set(mine.job_ids)
    later = [job for job in others if int(job) > int(me)]
    if later:
        raise SupersededError(f"job {max(later, key=int)}, submitted later, is to run this configuration")
    for job in sorted(others, key=int):
        say(f"job {job} of an earlier controller is still there for this configuration: cancelling it")
        _run("scancel", job)
    for job in others:
        if not await _within_grace(partial(_has_left, job)):
            raise SupersededError(f"job {job} does not end")


def _submitted_for_the_same(mine: str) -> set[str]:
    """Other jobs, waiting ones too, that the executor submitted from our directory with our comment.

    The comment names rule and wildcards. A waiting job has left no file yet: only Slurm knows of it.
    """
    queue = purposes(_run("squeue", "--noheader", "--me", "--format=%A|%Z|%k").stdout)
    purpose = queue.get(mine, ("", ""))
    if purpose[1] in ("", "(null)"):
        return set()
    return {job for job, other in queue.items() if other == purpose and job != mine}


def purposes(listed: str) -> dict[str, tuple[str, str]]:
    """Job to its directory and its comment's first word, from squeue's `%A|%Z|%k`.

    What follows the executor's comment is the recipe's own, which a waiting job does not have yet. A comment
    may have several lines, and its further ones are no jobs.
    """
    return {job: (directory, comment) for job, directory, comment in JOB_LINE.findall(listed)}


def _recorded(files: RunFiles, mine: str) -> set[str]:
    """The job that wrote allocation.json, while it is in the queue.

    Only if it works in our directory: Slurm gives numbers out again, and this one may be anybody's by now.
    """
    try:
        job = Allocation.model_validate_json(files.allocation.read_bytes()).job_id
    except (OSError, ValidationError):
        return set()
    listed = _run("squeue", "--noheader", f"--jobs={mine},{job}", "--format=%A|%Z|%k").stdout
    places = {number: directory for number, (directory, _) in purposes(listed).items()}
    return {job} if job and job != mine and places.get(job, "") == places.get(mine) else set()


def _has_left(job: str) -> bool:
    """Whether a job has left the queue, completing included; unknown while Slurm cannot be asked."""
    shown = _run("squeue", "--noheader", f"--jobs={job}", "--format=%A")
    return job not in shown.stdout.split() and (shown.returncode == 0 or "Invalid job id" in shown.stderr)


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


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
