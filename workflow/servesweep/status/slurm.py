"""Slurm's word on the jobs of a sweep: squeue for those in the queue, sacct for those that have left it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# The executor's comment on a job: the rule and its wildcards.
COMMENT = "rule_run_wildcards_"
PATIENCE_SECONDS = 10.0
ENDED = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"}
ENDED |= {"OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"}


@dataclass(frozen=True)
class Job:
    """One job and its state, in Slurm's long words."""

    id: str
    state: str

    @property
    def ended(self) -> bool:
        """Whether it holds nothing any more."""
        return self.state in ENDED


@dataclass(frozen=True)
class _Queue:
    """One answer of squeue: job to its state, job to its configuration, configuration to its latest job."""

    states: Mapping[str, str] = field(default_factory=dict)
    purposes: Mapping[str, str] = field(default_factory=dict)
    latest: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, shown: str, project: str) -> _Queue:
        # Slurm gives numbers out again: a job of another directory is somebody else's by now.
        rows = [row.split("|", 3) for row in shown.splitlines() if row.count("|") >= 3]
        rows = [row for row in rows if row[2] == project]
        words = {job: comment.partition(" ")[0] for job, _, _, comment in rows}
        purposes = {
            job: word.removeprefix(COMMENT) for job, word in words.items() if word.startswith(COMMENT)
        }
        # Of several jobs for a configuration the one submitted last.
        latest = {purposes[job]: job for job in sorted(purposes, key=_order)}
        return cls({job: state for job, state, _, _ in rows}, purposes, latest)


@dataclass
class Slurm:
    """What Slurm knows of the jobs submitted from one project; nothing where it cannot be asked."""

    project: Path
    _queue: _Queue = field(default_factory=_Queue)
    _past: dict[str, str] = field(default_factory=dict)

    def ask(self, recorded: Iterable[str]) -> None:
        """Ask anew; `recorded` are job ids that the files name, which may have left the queue long ago."""
        shown = _output("squeue", "--noheader", "--states=all", *self._whose(), "--format=%A|%T|%Z|%k")
        self._queue = _Queue.of(shown or "", str(self.project))
        if shown is not None:
            self._look_back(set(recorded) - set(self._queue.states) - set(self._past))

    def job(self, configuration: str, recorded: str | None) -> Job | None:
        """The latest job of a configuration: in the queue by its comment, or the one that its files name."""
        queue = self._queue
        known = [job for job in (queue.latest.get(configuration), recorded) if job]
        known = [job for job in known if queue.purposes.get(job, configuration) == configuration]
        latest = max(known, key=_order, default=None)
        if latest is None:
            return None
        state = queue.states.get(latest) or self._past.get(latest)
        return Job(latest, state) if state else None

    def _whose(self) -> list[str]:
        try:
            return [f"--user={self.project.owner()}"]
        except (OSError, KeyError):
            return ["--me"]

    def _look_back(self, jobs: set[str]) -> None:
        """A job that has ended stays as it ended: each is asked for once."""
        if not jobs:
            return
        listed = ",".join(sorted(jobs))
        words = ("sacct", "-X", "--noheader", "--parsable2", f"--jobs={listed}")
        shown = _output(*words, "--format=JobIDRaw,State,WorkDir") or ""
        for job, state, directory in (row.split("|", 2) for row in shown.splitlines() if row.count("|") > 1):
            if directory == str(self.project) and state:
                # Also "CANCELLED by 1000".
                self._past[job] = state.split()[0]


def _order(job: str) -> int:
    return int(job) if job.isdigit() else -1


def _output(*words: str) -> str | None:
    """What a command prints; None where it is missing, refuses, or does not answer."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
