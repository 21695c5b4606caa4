"""The end of the job by Slurm's clock: the run ends before it, with time to end well.

At its time limit Slurm ends the batch step, and on many sites whatever it has started, at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from dataclasses import dataclass

from servesweep.recipe.host_setup import HostSetupSection

# SIGTERM and its grace for workers, then for what they need, then SIGKILL, the client's end, the lockfile.
MARGIN_SECONDS = 30.0
# A limit may also be lowered while the job runs; one question costs some milliseconds.
LOOK_AGAIN_SECONDS = 600.0
LONGEST_TEARDOWN_SECONDS = 60.0


@dataclass(frozen=True)
class TimeLimit:
    """When Slurm ends a job."""

    ends_at: float
    """Seconds since the epoch."""
    told: str
    """The limit as Slurm tells it: `00:30:00`."""


def time_limit_of(shown: str) -> TimeLimit | None:
    """The limit in the answer of `scontrol show job --oneliner`, of several components the earliest.

    Times in it are seconds since the epoch; None where there is no limit, or no such job.
    """
    found = []
    for line in shown.splitlines():
        end, limit = re.search(r"\sEndTime=(\d+)\b", line), re.search(r"\sTimeLimit=(\S+)", line)
        if end and limit and limit.group(1) not in ("UNLIMITED", "Partition_Limit"):
            found.append(TimeLimit(float(end.group(1)), limit.group(1)))
    return min(found, key=lambda one: one.ends_at, default=None)


def margin_for(setup: HostSetupSection | None) -> float:
    """Seconds before the limit at which the run ends: the recipe's own teardown needs some, too."""
    own = min(setup.timeout_seconds, LONGEST_TEARDOWN_SECONDS) if setup and setup.teardown else 0
    return MARGIN_SECONDS + own


def out_of_time(job: str, limit: TimeLimit, margin: float, undone: list[str]) -> str:
    """One sentence: which limit, and what was left undone."""
    left = f"not measured: {', '.join(undone)}" if undone else "every point is measured"
    return f"ended {margin:g} s before the time limit of job {job}, {limit.told}, is over: {left}"


async def near_the_limit(job: str, margin: float) -> TimeLimit:
    """Return when so many seconds are left of a job; never, where it has no limit.

    A limit that was changed in the meantime is noticed: before the end is told, Slurm is asked again.
    """
    known: TimeLimit | None = None
    while True:
        # While Slurm cannot be asked, what it said before holds.
        known = await _ask(job) or known
        left = known.ends_at - margin - time.time() if known else LOOK_AGAIN_SECONDS
        if known is not None and left <= 0:
            return known
        await asyncio.sleep(min(left, LOOK_AGAIN_SECONDS))


async def _ask(job: str) -> TimeLimit | None:
    with contextlib.suppress(OSError):
        process = await asyncio.create_subprocess_exec(
            *("scontrol", "show", "job", job, "--oneliner"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # Also for users who have a format of their own; the zone of the times is then nobody's matter.
            env={**os.environ, "SLURM_TIME_FORMAT": "%s"},
        )
        shown, _ = await process.communicate()
        return time_limit_of(shown.decode(errors="replace"))
    return None
