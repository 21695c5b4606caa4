"""An earlier run of the same configuration that is still alive is ended first, or wins over us.

A controller that was killed leaves its jobs behind. Two supervisors must never write to one
configuration, and on one machine never measure at the same time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from servesweep.evidence.files import RunFiles
from servesweep.runtime.allocation import Allocation

LIVE_STATES = {"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"}
GRACE_SECONDS = 60.0


class SupersededError(Exception):
    """A later submission already runs this configuration; its text is one sentence."""


def take_over(files: RunFiles, mine: Allocation, say: Callable[[str], None]) -> None:
    """End earlier runs that are still alive.

    Raises:
        SupersededError: where the other run is the later one, or cannot be ended from here.
    """
    if mine.launcher == "slurm":
        _end_job(files, mine, say)
        return
    for record in sorted(files.root.parent.glob("*/allocation.json")):
        other = _read(record)
        if other is not None and other.launcher == "local":
            _end_process(other, record.parent.name, say)


def _read(path: Path) -> Allocation | None:
    try:
        return Allocation.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _end_job(files: RunFiles, mine: Allocation, say: Callable[[str], None]) -> None:
    other = _read(files.allocation)
    if other is None or other.job_id in (None, mine.job_id) or not _job_lives(str(other.job_id)):
        return
    if int(str(other.job_id)) > int(str(mine.job_id)):
        raise SupersededError(f"job {other.job_id}, submitted later, already runs this configuration")
    say(f"job {other.job_id} of an earlier controller still runs this configuration: cancelling it")
    subprocess.run(["scancel", str(other.job_id)], check=False, capture_output=True)
    _wait(lambda: not _job_lives(str(other.job_id)), f"job {other.job_id} does not end")


def _job_lives(job: str) -> bool:
    shown = subprocess.run(
        ["squeue", "--noheader", f"--jobs={job}", "--format=%T"], capture_output=True, text=True, check=False
    )
    return bool(set(shown.stdout.split()) & LIVE_STATES)


def _end_process(other: Allocation, name: str, say: Callable[[str], None]) -> None:
    pid = other.supervisor_pid
    if other.supervisor_host != socket.gethostname() or pid == os.getpid() or not _supervises(pid):
        return
    say(f"process {pid} of an earlier controller still runs {name}: ending it")
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    try:
        _wait(lambda: not _supervises(pid), f"process {pid} does not end")
    except SupersededError:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _supervises(pid: int) -> bool:
    """Whether the process is alive and a `servesweep run`: process ids are used again."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z" and b"run" in words and any(b"servesweep" in word for word in words)


def _wait(done: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + GRACE_SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise SupersededError(otherwise)
        time.sleep(0.3)
