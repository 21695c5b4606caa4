"""What engines, frontends and services are told, and what they answer with: values only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar, dataclass_transform

from pydantic import BaseModel, ConfigDict

from servesweep.topology.ports import DYNAMO_SYSTEM, PortBlock
from servesweep.topology.shapes import ProcessPlace
from servesweep.topology.windows import numbered, within

Transport = Literal["dynamo", "http"]
T = TypeVar("T")
# Without the constants, infinity would come back from a file as null.
OF_FILES = ConfigDict(extra="forbid", ser_json_inf_nan="constants")


class Value(BaseModel):
    """An immutable value that a run writes to files."""

    # Without the constants, infinity would come back from a file as null. A validator is built when it is
    # first used: no command uses all of them.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", defer_build=True)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def rendered(kind: type[T]) -> type[T]:
    """A part of a plan: a plain dataclass, which pydantic checks where a plan file is read.

    A sweep makes tens of thousands of them, from values that the recipe's models have checked. Nobody
    changes one: the type checker sees to that, and `dataclass(frozen=True)` would make each thrice as slow.
    """
    made = dataclass(kw_only=True)(kind)
    made.__pydantic_config__ = OF_FILES  # type: ignore[attr-defined]
    return made


def changed(value: T, **changes: Any) -> T:
    """A copy of a part of a plan with other values in it.

    `dataclasses.replace`, which calls the constructor with every field, would take ten times as long.
    """
    copy = object.__new__(type(value))
    copy.__dict__.update(value.__dict__, **changes)
    return copy


@rendered
class Command:
    """A process to start."""

    argv: tuple[str, ...]
    """Program and arguments, without a shell."""
    env: dict[str, str] = field(default_factory=dict)
    """Variables set for this process."""
    files: dict[str, str] = field(default_factory=dict)
    """Files to write first: path to text."""


@rendered
class Probe:
    """How readiness is asked: an HTTP path that answers, or a TCP port that accepts."""

    kind: Literal["http", "tcp"]
    """http or tcp."""
    port: int
    """Port on the process's node."""
    path: str = "/health"
    """Path for http."""
    status: int = 200
    """Status of http that means ready."""
    body: str | None = None
    """Regular expression that http's answer must hold; None: any answer will do."""
    node: str | None = None
    """Another node that is asked; None: the process's own."""


@rendered
class Readiness:
    """When a service counts as ready: all that is given here holds."""

    probes: tuple[Probe, ...] = ()
    """Ports that answer."""
    log: str | None = None
    """Regular expression that a line of its log matches."""
    file: str | None = None
    """File on the hosts that is there, and not empty."""
    timeout_seconds: float = 120.0
    """The longest wait, seconds."""
    interval_seconds: float = 2.0
    """Seconds between two looks, at most."""


@rendered
class Census:
    """How many workers a frontend knows of."""

    prefill: int = 0
    """Prefill workers."""
    decode: int = 0
    """Decode or aggregated workers."""


@rendered
class Binding:
    """What a plan's symbols stand for: addresses, directories and windows of ports."""

    addresses: dict[str, str]
    """Node to address; symbolic (`ip-n0`) in a plan."""
    hosts: dict[str, str] = field(default_factory=dict)
    """Node to host name, where it is not the node's own name."""
    logs: str = "<LOGS>"
    """Log directory."""
    job: str = "<JOB>"
    """Number of the Slurm job."""
    scratch: str = "<SCRATCH>"
    """Directory on a node's own disk, for this allocation alone."""
    windows: dict[str, int] = field(default_factory=dict)
    """Node to the window of its ports, where other jobs may have some too; 0: the usual ones."""

    def host(self, node: str) -> str:
        """Host name of a node."""
        return self.hosts.get(node, node)

    def port(self, node: str, port: int | PortBlock, number: int = 0) -> int:
        """A port of the table, or the one with a number in a block, on a node."""
        window = self.windows.get(node, 0)
        return within(window, port) if isinstance(port, int) else numbered(window, port, number)


@rendered
class Endpoint:
    """A place that answers HTTP."""

    node: str
    """Symbolic node."""
    port: int
    """Port on it."""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """The facts of a configuration that every rendered command may need."""

    __pydantic_config__ = OF_FILES

    model_path: str
    """Directory on the hosts, or hub name, of the model."""
    model_source: str | None = None
    """Directory that model_path, on each node's own disk, is a copy of."""
    model_mount: str | None = None
    """Where processes find the model in their containers; None: at model_path."""
    log_mount: str | None = None
    """Where processes find the logs in their containers; None: as on the hosts."""
    served_model: str
    """Name under which it is served."""
    transport: Transport
    """How workers are reached: registered with Dynamo, or by HTTP."""
    gpus_per_node: int
    """GPUs of a node."""
    gpu_type: str | None = None
    """GPU model."""
    processes: tuple[ProcessPlace, ...]
    """Every worker process, in order of role, worker and rank."""
    standbys: tuple[ProcessPlace, ...] = ()
    """Engines that stand by on the GPUs of those processes."""
    head: str
    """The first node that no component has for itself."""
    frontend: str
    """Node of the frontend, or of nginx where there are several."""
    frontends: tuple[Endpoint, ...] = ()
    """Node and port of each frontend process, where there may be several."""
    infra: str
    """Node of the discovery plane."""
    public_port: int
    """Port of the public API."""
    registering: bool = False
    """Whether workers register with their router, which is told no URLs."""
    request_plane: str = "tcp"
    """How Dynamo's requests reach workers."""
    event_plane: str | None = None
    """How Dynamo's events travel; None: its choice."""
    config_dump: bool = True
    """Whether engines write their resolved configuration to the logs."""
    visible_devices: str = "CUDA_VISIBLE_DEVICES"
    """Variable that tells a process its GPUs."""
    schemes: dict[str, str] = field(default_factory=dict)
    """Mode to the scheme of its workers' URLs, where it is not http."""
    binding: Binding
    """What the symbols stand for."""
    discovery: dict[str, str] = field(default_factory=dict)
    """Environment that names the discovery plane."""
    stores: dict[str, str] = field(default_factory=dict)
    """Environment that names the Mooncake master."""
    services: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Service that is started to the nodes of its instances, in order."""
    terminal: tuple[str, ...] = ()
    """Services whose end is the end of the job."""

    @property
    def model(self) -> str:
        """The model as a process's argument names it."""
        return self.model_mount or self.model_path

    @property
    def logs(self) -> str:
        """The log directory as a process's argument names it."""
        return self.log_mount or self.binding.logs

    @property
    def disaggregated(self) -> bool:
        """Whether prefill and decode are workers of their own."""
        return any(process.mode == "prefill" for process in self.processes)

    @property
    def worker_nodes(self) -> tuple[str, ...]:
        """The nodes that carry workers, in order of allocation."""
        carrying = {node for process in self.processes for node in process.worker_nodes}
        return tuple(node for node in self.binding.addresses if node in carrying)

    def ranks(self, process: ProcessPlace) -> tuple[ProcessPlace, ...]:
        """All processes of the worker that `process` belongs to, by rank."""
        return self._workers[process.mode, process.index]

    @cached_property
    def _workers(self) -> dict[tuple[str, int], tuple[ProcessPlace, ...]]:
        found: dict[tuple[str, int], list[ProcessPlace]] = {}
        for process in self.processes:
            found.setdefault((process.mode, process.index), []).append(process)
        return {worker: tuple(ranks) for worker, ranks in found.items()}

    def engines(self, process: ProcessPlace) -> tuple[ProcessPlace, ...]:
        """A process, and what stands by on its GPUs."""
        if not self.standbys:
            return (process,)
        place = (process.mode, process.index, process.rank)
        return (process, *(p for p in self.standbys if (p.mode, p.index, p.rank) == place))

    def leaders(self, *modes: str) -> tuple[ProcessPlace, ...]:
        """The rank-0 process of each worker of the modes, in order."""
        return tuple(p for p in self.processes if p.mode in modes and p.rank == 0)

    def serving(self, *modes: str) -> tuple[ProcessPlace, ...]:
        """The processes of the modes that answer HTTP: leaders, and each part of a hybrid vLLM worker."""
        return tuple(p for p in self.processes if p.mode in modes and p.http_port is not None)

    def registered(self, *modes: str) -> tuple[ProcessPlace, ...]:
        """The processes of the modes that make themselves known to Dynamo."""
        return tuple(p for p in self.processes if p.mode in modes and registers(p))

    def address(self, node: str) -> str:
        """Address of a node."""
        return self.binding.addresses[node]

    def port(self, node: str, port: int | PortBlock, number: int = 0) -> int:
        """A port of the table, or the one with a number in a block, on a node."""
        return self.binding.port(node, port, number)

    def process_number(self, process: ProcessPlace) -> int:
        """Number of a process among those that have ports by it: of the deployment, or of a shared node."""
        return process.system_port - self.port(process.node, DYNAMO_SYSTEM)

    def host(self, node: str) -> str:
        """Name of the host that stands for a node; in a plan the node's own."""
        return self.binding.host(node)

    def number(self, node: str) -> int:
        """Number of a node within the job, from 0."""
        return list(self.binding.addresses).index(node)

    def url(self, process: ProcessPlace) -> str:
        """Base URL of a worker's HTTP endpoint."""
        scheme = self.schemes.get(process.mode, "http")
        return f"{scheme}://{self.address(process.node)}:{process.http_port}"


def registers(process: ProcessPlace) -> bool:
    """Whether the process makes itself known to Dynamo: what publishes KV events does, and nothing else."""
    return process.kv_events_port is not None


def ended_file(deployment: Deployment) -> str:
    """The file on the hosts that is written once every terminal service has ended well."""
    return f"{deployment.binding.logs}/terminal_services.ended"


def uneven(ranks: Sequence[ProcessPlace]) -> bool:
    """Whether the processes of a worker have different GPUs on their nodes."""
    return len({rank.gpus for rank in ranks}) > 1


def step_name(process: ProcessPlace) -> str:
    """Name of a worker's process: `prefill_0`, `_r1` for a further rank, `_e1` for one that stands by."""
    rank = f"_r{process.rank}" if process.rank else ""
    return f"{process.mode}_{process.index}{rank}" + (f"_e{process.engine}" if process.engine else "")
