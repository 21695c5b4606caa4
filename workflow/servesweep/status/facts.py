"""What `status` keeps of each file of a configuration; whatever is missing or odd in one is left empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True)
class PlanFacts:
    """plan.json: who is to be up, what is to be measured, what it holds."""

    digest: str | None = None
    launcher: str | None = None
    gpus: int = 0
    points: Mapping[str, str] = field(default_factory=dict)
    """Point to its digest, in order."""
    workers: Mapping[tuple[str, int], frozenset[str]] = field(default_factory=dict)
    """Mode and index of a worker to the names of its processes that tell when they are ready."""

    @classmethod
    def of(cls, plan: Json) -> PlanFacts:
        """From the file."""
        topology = _object(plan.get("topology"))
        return cls(
            digest=_text(plan.get("digest")),
            launcher=_text(plan.get("launcher")),
            gpus=_number(topology.get("total_nodes")) * _number(topology.get("gpus_per_node")),
            points={str(p.get("id")): str(p.get("digest")) for p in _objects(plan.get("points"))},
            workers=_workers(_objects(plan.get("steps"))),
        )


@dataclass(frozen=True)
class AllocationFacts:
    """allocation.json: where it runs."""

    there: bool = False
    launcher: str | None = None
    job_id: str | None = None
    started_at: str | None = None
    supervisor: tuple[str, int] | None = None
    """Host and process id."""
    digest: str | None = None

    @classmethod
    def of(cls, allocation: Json) -> AllocationFacts:
        """From the file."""
        host, pid = allocation.get("supervisor_host"), allocation.get("supervisor_pid")
        return cls(
            there=bool(allocation),
            launcher=_text(allocation.get("launcher")),
            job_id=_text(allocation.get("job_id")),
            started_at=_text(allocation.get("started_at")),
            supervisor=(host, pid) if isinstance(host, str) and isinstance(pid, int) else None,
            digest=_text(allocation.get("digest")),
        )

    def is_of(self, plan: PlanFacts, job: str | None) -> bool:
        """Whether it is of this plan, and of this job where there is one, or of an earlier attempt."""
        return self.digest in (None, plan.digest) and job in (None, self.job_id)


@dataclass(frozen=True)
class SupervisorFacts:
    """logs/state.json: the stage, and whose process is gone."""

    stage: str | None = None
    ended: frozenset[str] = frozenset()

    @classmethod
    def of(cls, state: Json) -> SupervisorFacts:
        """From the file."""
        return cls(_text(state.get("stage")), _names(state.get("ended")))


@dataclass(frozen=True)
class RestartFacts:
    """logs/worker_restarts.json: how often, and who is on the way up again."""

    total: int = 0
    absent: frozenset[str] = frozenset()
    """Workers whose next life is not ready."""

    @classmethod
    def of(cls, restarts: Json) -> RestartFacts:
        """From the file."""
        last = {str(event.get("worker")): event for event in _objects(restarts.get("events"))}
        absent = {worker for worker, event in last.items() if event.get("outcome") != "ready"}
        return cls(_number(restarts.get("total_restarts")), frozenset(absent))


@dataclass(frozen=True)
class CpuFacts:
    """logs/resource_snapshot.json: CPUs of the job, and the verdict on them."""

    status: str | None = None
    allocated: int | None = None
    available: int | None = None
    minimum: int | None = None
    message: str | None = None

    @classmethod
    def of(cls, snapshot: Json) -> CpuFacts:
        """From the file."""
        check, cpus = _object(snapshot.get("cpu_check")), _object(snapshot.get("cpus"))
        return cls(
            status=_text(check.get("status")),
            allocated=_maybe(cpus.get("allocated_total")),
            available=_maybe(check.get("available_cpu_count")),
            minimum=_maybe(check.get("minimum_cpu_count")),
            message=_text(check.get("message")),
        )


@dataclass(frozen=True)
class FailureFacts:
    """failure.json: what failed first."""

    stage: str | None = None
    message: str | None = None
    digest: str | None = None

    @classmethod
    def of(cls, failure: Json) -> FailureFacts:
        """From the file."""
        return cls(*(_text(failure.get(key)) for key in ("stage", "message", "digest")))


@dataclass(frozen=True)
class RunFacts:
    """run.json: the end of it."""

    digest: str | None = None
    finished_at: str | None = None

    @classmethod
    def of(cls, run: Json) -> RunFacts:
        """From the file."""
        return cls(_text(run.get("digest")), _text(run.get("finished_at")))


def ready(workers: Json) -> frozenset[str]:
    """logs/workers.json: the processes that the health gate has found ready."""
    return _names(workers.get("ready"))


def is_open(health: Json) -> bool:
    """health.json: whether the gate is open."""
    return health.get("open") is True


def valid_digest(result: Json) -> str | None:
    """result.json of a point: what was measured, where it counts."""
    return _text(result.get("digest")) if result.get("valid") is True else None


def speed(progress: Json) -> float | None:
    """progress.json of a point: output tokens a second, once it is measured and not warmed up."""
    rate = progress.get("output_tok_s")
    return float(rate) if progress.get("phase") == "measure" and isinstance(rate, int | float) else None


def listed(sweep: Json) -> tuple[list[str] | None, int | None]:
    """sweep.json: its configurations in order (None: no such file), and the most GPUs held at once."""
    names = sweep.get("configurations")
    quota = sweep.get("gpu_quota")
    return (
        [str(name) for name in names] if isinstance(names, list) else None,
        quota if isinstance(quota, int) else None,
    )


def _workers(steps: list[Json]) -> dict[tuple[str, int], frozenset[str]]:
    found: dict[tuple[str, int], set[str]] = {}
    for step in steps:
        if step.get("kind") == "worker":
            names = found.setdefault((str(step.get("mode")), _number(step.get("index"))), set())
            # A worker whose further ranks tell nothing is up when its leader is.
            names |= {str(step.get("name"))} if step.get("probe") or step.get("readiness") else set()
    return {worker: frozenset(names) for worker, names in found.items()}


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _names(value: Any) -> frozenset[str]:
    return frozenset(map(str, value)) if isinstance(value, list) else frozenset()


def _text(value: Any) -> str | None:
    return str(value) if value is not None else None


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _maybe(value: Any) -> int | None:
    return value if isinstance(value, int) else None
