"""What is shown of a sweep, and what `--json` prints: values only."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

# The run is over, one way or the other.
OVER = frozenset({"finished", "failed", "lost"})


class View(BaseModel):
    """An immutable value with documented keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Workers(View):
    """Workers of a role."""

    up: int = Field(description="Workers that have become ready, and whose processes are there.")
    total: int = Field(description="Workers that the plan has.")


class Points(View):
    """Load points of a configuration."""

    valid: int = Field(description="Points with a valid result of this plan.")
    invalid: int = Field(description="Points that were measured in this attempt and do not count.")
    total: int = Field(description="Points that the plan has.")
    current: str | None = Field(default=None, description="The point that is being measured.")


class Cpus(View):
    """CPUs of a configuration's job."""

    status: str = Field(description="ok, warning or unknown: at least one CPU for each GPU of workers.")
    allocated: int | None = Field(default=None, description="CPUs of the job over all its nodes.")
    available: int | None = Field(default=None, description="CPUs on the node that has it worst.")
    minimum: int | None = Field(default=None, description="CPUs wanted on that node.")
    message: str | None = Field(default=None, description="The verdict in words.")


class ConfigurationView(View):
    """One configuration as it is now."""

    kind: str = Field(default="configuration", description="`configuration`.")
    configuration: str = Field(description="Its name.")
    slurm_state: str | None = Field(description="Slurm's state of its job; null: Slurm does not tell.")
    job_id: str | None = Field(description="Its Slurm job.")
    stage: str = Field(
        description="planned, queued, allocation, hosts, services, workers, frontend, health_gate, "
        "benchmark, teardown, finished, failed, lost (ended without a record), or unknown (not even planned)."
    )
    workers: dict[str, Workers] = Field(description="Role (prefill, decode, agg) to its workers.")
    restarts: int = Field(description="Restarts of workers in this attempt.")
    points: Points = Field(description="Load points.")
    output_tok_s: float | None = Field(description="Output tokens a second of the current point.")
    gpus: int = Field(description="GPUs of its nodes: what it takes of the quota.")
    holds_gpus: bool = Field(description="Whether it holds them, or waits for them in Slurm's queue.")
    cpus: Cpus | None = Field(description="CPUs of the job; null until the job has begun.")
    started_at: str | None = Field(description="UTC time at which the run began.")
    finished_at: str | None = Field(description="UTC time at which it was finished.")
    failure: str | None = Field(description="What failed first.")


class SweepView(View):
    """The sweep as it is now; the last line of `--json`."""

    kind: str = Field(default="sweep", description="`sweep`.")
    at: str = Field(description="UTC time of the look.")
    stages: dict[str, int] = Field(description="Stage to the number of configurations in it.")
    points_valid: int = Field(description="Valid points of all configurations.")
    points_total: int = Field(description="Points of all configurations.")
    output_tok_s: float = Field(description="Output tokens a second of all points that are being measured.")
    restarts: int = Field(description="Restarts of workers in all configurations.")
    cpu_warnings: int = Field(description="Configurations with too few CPUs.")
    gpus_held: int = Field(description="GPUs of configurations that hold them or wait for them.")
    gpu_quota: int | None = Field(description="GPUs that the sweep may hold at once; null: no limit.")
