"""Judge the state of every point of a sweep from the files that are there."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from servesweep.report.files import Failure, Result, Run, read
from servesweep.report.plan_file import Plan, PlanPoint

Status = Literal["valid", "invalid", "failed", "not run"]
STATUSES: tuple[Status, ...] = ("valid", "invalid", "failed", "not run")
STALE = "not measured since its recipe has changed"


@dataclass(frozen=True)
class Point:
    """One load level with its state; `result` is there for valid points and for readable invalid ones."""

    configuration: str
    id: str
    status: Status
    reason: str = ""
    plan: PlanPoint | None = None
    result: Result | None = None

    @property
    def concurrency(self) -> int | None:
        """Requests in flight: as measured, or else as planned."""
        measured = self.result.load.concurrency if self.result else None
        return measured if measured is not None or self.plan is None else self.plan.concurrency

    @property
    def request_rate(self) -> float | str | None:
        """Requests per second or "inf": as measured, or else as planned."""
        measured = self.result.load.request_rate if self.result else None
        return measured if measured is not None or self.plan is None else self.plan.request_rate

    @property
    def isl(self) -> int | None:
        """Input tokens asked for: as measured, or else as planned."""
        measured = self.result.load.isl if self.result else None
        return measured if measured is not None or self.plan is None else self.plan.isl

    @property
    def osl(self) -> int | None:
        """Output tokens asked for: as measured, or else as planned."""
        measured = self.result.load.osl if self.result else None
        return measured if measured is not None or self.plan is None else self.plan.osl

    def metric(self, key: str) -> float | None:
        """Return a measured number of a valid point, else None: what is not valid counts nowhere."""
        return self.result.metrics.get(key) if self.result and self.status == "valid" else None


@dataclass(frozen=True)
class Configuration:
    """One configuration: its plan, its run or its failure, and its points in the plan's order."""

    id: str
    directory: Path
    plan: Plan | None
    run: Run | None
    failure: Failure | None
    points: tuple[Point, ...]

    @property
    def job_id(self) -> str:
        """The Slurm job, or an empty text."""
        record = self.run or self.failure
        return "" if record is None or record.job_id is None else str(record.job_id)

    @property
    def gpu_hours(self) -> float | None:
        """GPUs that the job held times the hours of its finished run; None when either is not known."""
        gpus = self.plan.topology.allocated_gpus if self.plan else None
        seconds = _seconds(self.run.started_at, self.run.finished_at) if self.run else None
        return None if gpus is None or seconds is None else gpus * seconds / 3600


@dataclass(frozen=True)
class Sweep:
    """All configurations of a sweep, in order."""

    configurations: tuple[Configuration, ...]

    @property
    def points(self) -> list[Point]:
        """All points, configuration by configuration."""
        return [point for configuration in self.configurations for point in configuration.points]

    def count(self) -> dict[Status, int]:
        """Number of points in each state; every state is a key."""
        counted = Counter(point.status for point in self.points)
        return {status: counted[status] for status in STATUSES}

    @property
    def saturated(self) -> list[Point]:
        """Valid points whose client was too busy for its times to be trusted."""
        return [point for point, result in self._valid() if result.client.saturated is True]

    @property
    def judged(self) -> list[Point]:
        """Valid points whose recipe has objectives."""
        return [point for point, result in self._valid() if result.slo]

    @property
    def missed(self) -> list[Point]:
        """Those of them that missed one."""
        return [point for point, result in self._valid() if result.slo and not result.slo.met]

    def _valid(self) -> list[tuple[Point, Result]]:
        return [(point, point.result) for point in self.points if point.status == "valid" and point.result]

    @property
    def gpu_hours(self) -> float | None:
        """GPU hours of all finished runs together; None when no run tells its times."""
        known = [hours for c in self.configurations if (hours := c.gpu_hours) is not None]
        return sum(known) if known else None


def load_sweep(results: Path, only: Sequence[str] | None = None) -> Sweep:
    """Read a results directory: the configurations of `only` in that order, or all that have a plan."""
    found = sorted(path.parent.name for path in results.glob("*/plan.json"))
    names = found if only is None else list(dict.fromkeys(only))
    return Sweep(tuple(_configuration(results / name) for name in names))


def _configuration(directory: Path) -> Configuration:
    plan, broken_plan = read(directory / "plan.json", Plan)
    run, _ = read(directory / "run.json", Run)
    failure, broken_failure = read(directory / "failure.json", Failure)
    digest = plan.digest if plan else ""
    if run and plan and run.digest != digest:
        run = None  # the record of an earlier plan proves nothing about this one
    if failure and _is_over(failure, run, digest):
        failure = None
    unmeasured = _unmeasured(failure, broken_failure)
    if plan is None or not plan.points:
        damaged: tuple[Status, str] = ("invalid", broken_plan)
        missing: tuple[Status, str] = ("not run", "no plan" if plan is None else "the plan has no points")
        status, reason = damaged if broken_plan else (unmeasured if unmeasured[1] else missing)
        return Configuration(
            directory.name, directory, plan, run, failure, (Point(directory.name, "", status, reason),)
        )
    points = tuple(_point(directory, planned, unmeasured) for planned in plan.points)
    return Configuration(directory.name, directory, plan, run, failure, points)


def _is_over(failure: Failure, run: Run | None, digest: str) -> bool:
    """A failure no longer counts when it is of another plan, or when the run has finished since."""
    if digest and failure.digest and failure.digest != digest:
        return True
    since = _seconds(failure.at, run.finished_at) if run else None
    return since is not None and since >= 0


def _unmeasured(failure: Failure | None, broken: str) -> tuple[Status, str]:
    """State of the points of a configuration that left no file of their own."""
    if failure:
        return "failed", one_line(failure.message) or f"failed in {failure.stage or 'an unnamed stage'}"
    return ("failed", broken) if broken else ("not run", "")


def _point(directory: Path, planned: PlanPoint, unmeasured: tuple[Status, str]) -> Point:
    """State of one point: a current valid result wins, then a current invalid one, then the run's failure."""
    place = directory / "points" / planned.id
    damage, stale, refused = "", False, None
    for name in ("result.json", "invalid.json"):
        result, broken = read(place / name, Result)
        damage = damage or broken
        if result is None:
            continue
        if result.digest != planned.digest:
            stale = True
        elif result.valid and name == "result.json":
            return Point(directory.name, planned.id, "valid", "", planned, result)
        else:
            refused = refused or result
    if refused:
        reason = one_line("; ".join(refused.reasons)) or "no reason given"
        return Point(directory.name, planned.id, "invalid", reason, planned, refused)
    if damage:
        return Point(directory.name, planned.id, "invalid", one_line(damage), planned)
    status, reason = unmeasured
    return Point(directory.name, planned.id, status, reason or (STALE if stale else ""), planned)


def one_line(text: str) -> str:
    """Join the lines of a text and drop repeated spaces."""
    return " ".join(text.split())


def _seconds(start: str | None, end: str | None) -> float | None:
    """Seconds between two ISO times; None when one is missing, unreadable or they cannot be compared."""
    try:
        return (datetime.fromisoformat(end or "") - datetime.fromisoformat(start or "")).total_seconds()
    except (ValueError, TypeError):
        return None
