"""`services:` — further processes of the job: discovery, caches, exporters, and whatever a user adds."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from servesweep.recipe.section import Environment, Section, SlurmOptions, Words, fault

SERVICE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


class ServicePlacement(Section):
    """Where the instances of a service run."""

    node: (
        Literal["head", "infra", "dedicated", "prefill", "decode", "agg", "workers", "compute", "all"] | None
    ) = Field(default=None, description="The nodes that carry an instance; default: the type's own.")
    pool: str | None = Field(default=None, description="Service on whose nodes it rides.")
    per: Literal["node", "worker"] = Field(default="node", description="One instance a node, or a worker.")

    @model_validator(mode="after")
    def _one_place(self) -> ServicePlacement:
        if self.node is not None and self.pool is not None:
            raise fault("node and pool exclude each other: keep one", "pool")
        return self


class HttpReadiness(Section):
    """An HTTP answer that means ready."""

    port: int = Field(ge=1, le=65535, description="Port on the service's node.")
    path: str = Field(default="/health", description="Path that is asked.")
    status: int = Field(default=200, ge=100, le=599, description="Status that means ready.")


class LogReadiness(Section):
    """A line of the log that means ready."""

    pattern: str = Field(min_length=1, description="Regular expression.")


class ServiceReadiness(Section):
    """How the job knows that a service is there."""

    port: int | None = Field(default=None, ge=1, le=65535, description="TCP port that accepts.")
    tcp: int | None = Field(default=None, ge=1, le=65535, description="The same as port.")
    http: HttpReadiness | None = Field(default=None, description="HTTP endpoint that answers.")
    log: LogReadiness | None = Field(default=None, description="Line that the log shows.")
    file: str | None = Field(default=None, description="File that exists.")
    timeout_seconds: float = Field(default=120, gt=0, description="The longest wait, seconds.")
    interval_seconds: float = Field(default=2, gt=0, description="Seconds between probes.")

    @model_validator(mode="after")
    def _one_way(self) -> ServiceReadiness:
        ways = [key for key in ("port", "tcp", "http", "log", "file") if getattr(self, key) is not None]
        if len(ways) != 1:
            raise ValueError("readiness is asked in exactly one way: port, tcp, http, log or file")
        return self


class ServiceSource(Section):
    """Source that a service is built from."""

    git: str = Field(description="Repository.")
    rev: str = Field(description="Commit, tag or refs/pull/<n>/head.")
    path: str | None = Field(default=None, description="Directory inside the repository.")
    sha: str | None = Field(default=None, description="The commit that rev stood for.")


class ServiceSection(Section):
    """One service. With `nodes` it owns a pool of whole nodes, one instance on each."""

    name: str = Field(description="Unique in the recipe; also the name of its pool.")
    type: str = Field(default="generic", description="Registered service, such as generic, etcd, nats.")
    enabled: bool = Field(default=True, description="False switches an implied service off.")
    external: str | None = Field(
        default=None, description="Address of one that runs already; then none is started."
    )
    command: Words = Field(default=(), description="generic: program and arguments.")
    args: Words = Field(default=(), description="Further arguments of a typed service.")
    container: str | None = Field(default=None, description="Image, or its alias; default: model.container.")
    env: Environment = Field(default_factory=dict, description="Environment of the service.")
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the type.")
    placement: ServicePlacement | None = Field(default=None, description="Where its instances run.")
    nodes: int | None = Field(
        default=None, ge=1, description="Whole nodes that the service owns as its pool."
    )
    start: Literal["infra", "before_workers", "with_workers", "after_frontend"] | None = Field(
        default=None, description="When it is started; default: the type's own."
    )
    readiness: ServiceReadiness | None = Field(default=None, description="How the job knows it is there.")
    inherit_discovery_env: bool = Field(
        default=True, description="Give it the variables that name the discovery plane."
    )
    critical: bool | None = Field(
        default=None, description="Whether its exit ends the run; default: the type's own."
    )
    terminal: bool = Field(default=False, description="The job ends when all terminal services have ended.")
    metrics: tuple[dict[str, Any], ...] = Field(
        default=(), strict=False, description="Endpoints of metrics that it offers."
    )
    preamble: str | None = Field(default=None, description="Shell text run before the command.")
    cpus_per_task: int | None = Field(default=None, ge=1, description="CPUs of its step.")
    cpu_bind: str | None = Field(default=None, description="CPU binding of its step.")
    srun_options: SlurmOptions = Field(default_factory=dict, description="srun options of its step.")
    source: ServiceSource | None = Field(default=None, description="Source that it is built from.")
    build_command: str | None = Field(default=None, description="Shell text that builds it.")
    build_timeout_seconds: float = Field(default=1800, gt=0, description="The longest build, seconds.")

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not SERVICE_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a service: letters, digits and -, a letter first")
        return name

    @model_validator(mode="after")
    def _whole(self) -> ServiceSection:
        if self.type == "generic" and self.enabled and self.external is None and not self.command:
            raise fault("a generic service needs its command, as a list of words", "command")
        if self.nodes is not None and self.placement is not None:
            raise fault("nodes makes a pool of its own: remove placement, or nodes", "placement")
        if self.build_command is not None and self.source is None:
            raise fault("build_command needs source: there is nothing to build", "build_command")
        return self

    @property
    def place(self) -> str | None:
        """The node that its placement names, if it does."""
        return self.placement.node if self.placement else None
