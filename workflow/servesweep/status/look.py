"""One look at a sweep: its files, and Slurm's word, become values."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from servesweep.status import facts
from servesweep.status.facts import (
    AllocationFacts,
    CpuFacts,
    FailureFacts,
    PlanFacts,
    RestartFacts,
    RunFacts,
    SupervisorFacts,
)
from servesweep.status.reader import Reader, names_in
from servesweep.status.slurm import Job, Slurm
from servesweep.status.view import OVER, ConfigurationView, Cpus, Points, SweepView, Workers

Kept = TypeVar("Kept")


@dataclass
class Looker:
    """Looks at a results directory again and again; what has not changed is not read again."""

    results: Path
    reader: Reader = field(default_factory=Reader)
    slurm: Slurm = field(init=False)

    def __post_init__(self) -> None:
        self.slurm = Slurm(self.results.resolve().parent)

    def ask_slurm(self) -> None:
        """Have Slurm tell the states of the jobs anew, where there are any; the looks after it use them."""
        roots = [str(self.results / name) for name in self.names()]
        if any(self.reader.read(f"{root}/plan.json", PlanFacts.of).launcher == "slurm" for root in roots):
            recorded = (self._allocation(root).job_id for root in roots)
            self.slurm.ask(job for job in recorded if job)

    def names(self) -> list[str]:
        """The configurations of the sweep in its order; without its list every one that has a plan."""
        listed, _ = self._sweep()
        if listed is not None:
            return listed
        return sorted(path.parent.name for path in self.results.glob("*/plan.json"))

    def look(self) -> tuple[list[ConfigurationView], SweepView]:
        """Every configuration, and the sweep as a whole."""
        views = [self.configuration(name) for name in self.names()]
        _, quota = self._sweep()
        return views, SweepView(
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            stages=dict(Counter(view.stage for view in views)),
            points_valid=sum(view.points.valid for view in views),
            points_total=sum(view.points.total for view in views),
            output_tok_s=sum(view.output_tok_s or 0 for view in views),
            restarts=sum(view.restarts for view in views),
            cpu_warnings=sum(view.cpus is not None and view.cpus.status == "warning" for view in views),
            gpus_held=sum(view.gpus for view in views if view.holds_gpus),
            gpu_quota=quota,
        )

    def configuration(self, name: str) -> ConfigurationView:
        """One configuration."""
        root, read = str(self.results / name), self.reader.read
        there = names_in(root)
        plan = read(f"{root}/plan.json", PlanFacts.of)
        allocation = self._allocation(root) if "allocation.json" in there else AllocationFacts()
        run = read(f"{root}/run.json", RunFacts.of) if "run.json" in there else RunFacts()
        failure = read(f"{root}/failure.json", FailureFacts.of) if "failure.json" in there else FailureFacts()
        job = self.slurm.job(name, allocation.job_id)
        if not allocation.is_of(plan, job.id if job else None):
            # What an earlier attempt has left tells nothing of this one, but why its job was refused.
            there &= {"points"} if job and not job.ended else {"points", "failure.json"}
            allocation = AllocationFacts()
        logs = names_in(f"{root}/logs") if "logs" in there else frozenset()
        state = self._log(root, logs, "state.json", SupervisorFacts.of)
        restarts = self._log(root, logs, "worker_restarts.json", RestartFacts.of)
        stage = _stage(
            run=plan.digest is not None and run.digest == plan.digest,
            failed="failure.json" in there and failure.digest in (None, plan.digest),
            gate="health.json" in there and read(f"{root}/health.json", facts.is_open),
            allocation=allocation,
            state=state,
            planned=plan.digest is not None,
            job=job,
        )
        up = stage not in OVER and bool(logs)
        ready = self._log(root, logs, "workers.json", facts.ready) if up else frozenset()
        points, speed = self._points(root, plan, measuring=stage == "benchmark", there="points" in there)
        cpus = self._log(root, logs, "resource_snapshot.json", CpuFacts.of)
        return ConfigurationView(
            configuration=name,
            slurm_state=job.state if job else None,
            job_id=job.id if job else allocation.job_id,
            stage=stage,
            workers=_workers(plan, ready - state.ended, restarts.absent),
            restarts=restarts.total,
            points=points,
            output_tok_s=speed,
            gpus=plan.gpus,
            holds_gpus=not job.ended if job else _runs_here(allocation, stage),
            cpus=Cpus(**{**vars(cpus), "status": cpus.status}) if cpus.status else None,
            started_at=allocation.started_at,
            finished_at=run.finished_at if stage == "finished" else None,
            failure=failure.message if stage == "failed" else None,
        )

    def _allocation(self, root: str) -> AllocationFacts:
        return self.reader.read(f"{root}/allocation.json", AllocationFacts.of)

    def _sweep(self) -> tuple[list[str] | None, int | None]:
        return self.reader.read(self.results / "sweep.json", facts.listed)

    def _log(
        self, root: str, logs: frozenset[str], name: str, make: Callable[[Mapping[str, Any]], Kept]
    ) -> Kept:
        return self.reader.read(f"{root}/logs/{name}", make) if name in logs else make({})

    def _points(
        self, root: str, plan: PlanFacts, measuring: bool, there: bool
    ) -> tuple[Points, float | None]:
        valid = invalid = 0
        current, speed = None, None
        for point, digest in plan.points.items() if there else ():
            files = names_in(f"{root}/points/{point}")
            if "result.json" in files:
                done = self.reader.read(f"{root}/points/{point}/result.json", facts.valid_digest)
                valid += done == digest
            invalid += "invalid.json" in files
            if measuring and "progress.json" in files:
                current = point
                speed = self.reader.read(f"{root}/points/{point}/progress.json", facts.speed)
        return Points(valid=valid, invalid=invalid, total=len(plan.points), current=current), speed


def _stage(
    run: bool,
    failed: bool,
    gate: bool,
    allocation: AllocationFacts,
    state: SupervisorFacts,
    planned: bool,
    job: Job | None,
) -> str:
    """The stage that the files tell; Slurm's word decides where they cannot know."""
    if run:
        return "finished"
    if job is not None and job.state == "PENDING":
        return "queued"
    if failed:
        return "failed"
    if not allocation.there:
        return _stage_of(job) if job else "planned" if planned else "unknown"
    if (job is not None and job.ended) or _has_died(allocation):
        return "lost"
    if state.stage == "teardown":
        return "teardown"
    return "benchmark" if gate else state.stage or "allocation"


def _stage_of(job: Job) -> str:
    """Where a job is whose run has left no word yet."""
    return "lost" if job.ended else "allocation" if job.state == "RUNNING" else "queued"


def _has_died(allocation: AllocationFacts) -> bool:
    """Whether a local run of this machine certainly has no supervisor any more."""
    if allocation.launcher != "local" or allocation.supervisor is None:
        return False
    host, pid = allocation.supervisor
    return host == socket.gethostname() and Path("/proc/self").exists() and not Path(f"/proc/{pid}").exists()


def _runs_here(allocation: AllocationFacts, stage: str) -> bool:
    return allocation.launcher == "local" and stage not in OVER | {"planned", "queued", "unknown"}


def _workers(plan: PlanFacts, ready: frozenset[str], absent: frozenset[str]) -> dict[str, Workers]:
    """Each role's workers: one is up when every process of it that tells so is ready."""
    total = Counter(mode for mode, _ in plan.workers)
    up = Counter(
        mode
        for (mode, index), names in plan.workers.items()
        if names and names <= ready and f"{mode}_{index}" not in absent
    )
    return {mode: Workers(up=up[mode], total=number) for mode, number in total.items()}
