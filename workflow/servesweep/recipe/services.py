"""`services:` — further processes of the job: discovery, caches, exporters, and whatever a user adds."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from servesweep.recipe.dynamo import MOVING
from servesweep.recipe.limits import A_WEEK, MOST_NODES
from servesweep.recipe.not_yet import NotYet
from servesweep.recipe.problems import shown
from servesweep.recipe.section import Environment, Section, SlurmOptions, Words, fault
from servesweep.recipe.texts import Line, Text

SERVICE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
# A URL, or a host and perhaps a port.
SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"
ADDRESS = re.compile(rf"(?:{SCHEME})?(?!{SCHEME})[^\s,/:][^\s,]*")
# What the node map calls other things that stand on a node.
TAKEN_NAMES = ("head", "client", "nginx")
CARRYING_WORKERS = ("prefill", "decode", "agg", "workers")

Start = Literal["infra", "before_workers", "with_workers", "after_frontend"]
Per = Literal["node", "worker"]


class ServicePlacement(Section):
    """Where the instances of a service run."""

    node: (
        Literal["head", "infra", "dedicated", "prefill", "decode", "agg", "workers", "compute", "all"] | None
    ) = Field(default=None, description="The nodes that carry an instance; default: the type's own.")
    pool: str | None = Field(default=None, description="Service on whose nodes it rides.")
    per: Per | None = Field(
        default=None, description="One instance a `node` or a `worker`; default: the type's own."
    )

    @model_validator(mode="after")
    def _one_place(self) -> ServicePlacement:
        if self.node is not None and self.pool is not None:
            raise fault("node and pool exclude each other: keep one", "pool")
        if self.per == "worker" and self.pool is not None:
            raise fault("a pool has no workers to attach an instance to: say node, or per: node", "per")
        if self.per == "worker" and self.node not in (None, *CARRYING_WORKERS):
            raise fault(f"{self.node} has no workers of its own: say prefill, decode, agg or workers", "node")
        return self


def _folded(key: str) -> Any:
    """A section of one key that is also written as that key's value alone."""
    return model_validator(mode="before")(
        lambda data: data if isinstance(data, dict) else {key: data},
    )


class TcpReadiness(Section):
    """A TCP port that accepts."""

    port: int = Field(ge=1, le=65535, description="Port on the service's node.")
    _short = _folded("port")


class FileReadiness(Section):
    """A file with something in it."""

    path: Line = Field(
        description="Path on the hosts, a relative one below the logs; placeholders are filled."
    )
    _short = _folded("path")


class HttpReadiness(Section):
    """An HTTP answer that means ready."""

    port: int = Field(ge=1, le=65535, description="Port on the service's node.")
    path: str = Field(default="/health", pattern="^/", description="Path that is asked.")
    status: int = Field(default=200, ge=100, le=599, description="Status that means ready.")


class LogReadiness(Section):
    """A line of the log that means ready."""

    pattern: str = Field(min_length=1, description="Regular expression, searched for in the service's log.")

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"the pattern is no regular expression: {error}") from None
        return pattern


class ServiceReadiness(Section):
    """How the job knows that a service is there."""

    port: int | None = Field(default=None, ge=1, le=65535, description="TCP port that accepts.")
    tcp: TcpReadiness | None = Field(default=None, description="The same as port.")
    http: HttpReadiness | None = Field(default=None, description="HTTP endpoint that answers.")
    log: LogReadiness | None = Field(default=None, description="Line that the log shows.")
    file: FileReadiness | None = Field(default=None, description="File that is there, and not empty.")
    timeout_seconds: float = Field(default=120, gt=0, le=A_WEEK, description="The longest wait, seconds.")
    interval_seconds: float = Field(default=2, gt=0, le=A_WEEK, description="Seconds between probes.")

    @model_validator(mode="after")
    def _one_way(self) -> ServiceReadiness:
        ways = [key for key in ("port", "tcp", "http", "log", "file") if getattr(self, key) is not None]
        if len(ways) != 1:
            raise ValueError("readiness is asked in exactly one way: port, tcp, http, log or file")
        return self


class ServiceSource(Section):
    """Source that a service is built from."""

    git: Line = Field(description="Repository.")
    rev: Line = Field(description="Commit, tag or refs/pull/<n>/head.")
    path: str | None = Field(default=None, description="Directory inside the repository.")
    sha: str | None = Field(default=None, description="The commit that rev stood for.")

    @field_validator("rev")
    @classmethod
    def _stays(cls, rev: str) -> str:
        if rev in MOVING or rev.startswith("refs/heads/"):
            raise ValueError(f"{rev} moves, so two runs would build different sources: name a commit")
        return rev


class ServiceMetrics(Section):
    """One endpoint of Prometheus metrics."""

    port: int = Field(ge=1, le=65535, description="Port on the service's node.")
    path: str = Field(default="/metrics", pattern="^/", description="Path.")
    nodes: Literal["all", "first"] = Field(default="all", description="Which instances offer it.")
    name: str | None = Field(
        default=None, min_length=1, description="Its name; needed where a service offers several."
    )


def _as_list(data: Any) -> Any:
    return [data] if isinstance(data, dict) else data


def _one_or_several(schema: dict[str, Any]) -> None:
    """One endpoint may stand without a list around it."""
    listed = {key: schema.pop(key) for key in ("type", "items")}
    schema["anyOf"] = [listed["items"], listed]


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
    container: Line | None = Field(default=None, description="Image, or its alias; default: model.container.")
    env: Environment = Field(default_factory=dict, description="Environment of the service.")
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the type.")
    placement: ServicePlacement | None = Field(default=None, description="Where its instances run.")
    nodes: int | None = Field(
        default=None, ge=1, le=MOST_NODES, description="Whole nodes that the service owns as its pool."
    )
    start: Start | None = Field(default=None, description="When it is started; default: the type's own.")
    readiness: ServiceReadiness | None = Field(default=None, description="How the job knows it is there.")
    inherit_discovery_env: bool = Field(
        default=True, description="Give it the variables that name the discovery plane."
    )
    critical: bool | None = Field(
        default=None, description="Whether its exit ends the run; default: the type's own."
    )
    terminal: bool = Field(default=False, description="The job ends when all terminal services have ended.")
    metrics: Annotated[tuple[ServiceMetrics, ...], BeforeValidator(_as_list)] = Field(
        default=(),
        strict=False,
        description="Endpoints of metrics that it offers, one or a list.",
        json_schema_extra=_one_or_several,
    )
    preamble: Text | None = Field(default=None, description="Shell text run before the command.")
    cpus_per_task: int | None = Field(default=None, ge=1, description="CPUs of its step.")
    cpu_bind: str | None = Field(default=None, description="CPU binding of its step.")
    srun_options: SlurmOptions = Field(default_factory=dict, description="srun options of its step.")
    source: ServiceSource | None = Field(
        default=None,
        description="Source that it is built from.",
        json_schema_extra=NotYet("fetching and building a service"),
    )
    build_command: Words = Field(default=(), description="Program and arguments that build it.")
    build_timeout_seconds: float = Field(
        default=1800, gt=0, le=A_WEEK, description="The longest build, seconds."
    )

    @field_validator("name")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not SERVICE_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a service: letters, digits and -, a letter first")
        if name in TAKEN_NAMES:
            raise ValueError(f"something else on a node is called {name}: choose another name")
        return name

    @field_validator("external")
    @classmethod
    def _addresses(cls, external: str | None) -> str | None:
        for part in external.split(",") if external is not None else ():
            if not ADDRESS.fullmatch(part.strip()):
                raise ValueError(f"{shown(part)} is no address: write host:port, several with commas between")
        return external

    @field_validator("command", "build_command")
    @classmethod
    def _names_a_program(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if words and not words[0].strip():
            raise fault("the first word is the program, and it is empty", 0)
        return words

    @field_validator("metrics")
    @classmethod
    def _told_apart(cls, metrics: tuple[ServiceMetrics, ...]) -> tuple[ServiceMetrics, ...]:
        if len(metrics) > 1 and len({one.name for one in metrics} - {None}) < len(metrics):
            raise ValueError("several endpoints need a name each, all different")
        return metrics

    @model_validator(mode="after")
    def _whole(self) -> ServiceSection:
        if self.type == "generic" and self.enabled and self.external is None and not self.command:
            raise fault("a generic service needs its command, as a list of words", "command")
        owned = self.placement in (None, ServicePlacement(), ServicePlacement(node="workers"))
        if self.nodes is not None and not owned:
            raise fault("nodes makes a pool of its own: remove placement, or nodes", "placement")
        if self.build_command and self.source is None:
            raise fault("build_command needs source: there is nothing to build", "build_command")
        return self

    @property
    def place(self) -> str | None:
        """The node that its placement names, if it does."""
        return self.placement.node if self.placement else None
