"""What engines, frontends and services are told, and what they answer with: values only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from servesweep.topology.shapes import ProcessPlace

Transport = Literal["dynamo", "http"]


class Value(BaseModel):
    """An immutable value that is written to files."""

    # Without the constants, infinity would come back from a file as null. A validator is built when it is
    # first used: no command uses all of them.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", defer_build=True)


class Command(Value):
    """A process to start."""

    argv: tuple[str, ...] = Field(description="Program and arguments, without a shell.")
    env: dict[str, str] = Field(default_factory=dict, description="Variables set for this process.")
    files: dict[str, str] = Field(default_factory=dict, description="Files to write first: path to text.")


class Probe(Value):
    """How readiness is asked: an HTTP path that answers, or a TCP port that accepts."""

    kind: Literal["http", "tcp"] = Field(description="http or tcp.")
    port: int = Field(description="Port on the process's node.")
    path: str = Field(default="/health", description="Path for http.")
    status: int = Field(default=200, description="Status of http that means ready.")
    body: str | None = Field(
        default=None, description="Regular expression that http's answer must hold; None: any answer will do."
    )
    node: str | None = Field(default=None, description="Another node that is asked; None: the process's own.")


class Readiness(Value):
    """When a service counts as ready: all that is given here holds."""

    probes: tuple[Probe, ...] = Field(default=(), description="Ports that answer.")
    log: str | None = Field(default=None, description="Regular expression that a line of its log matches.")
    file: str | None = Field(default=None, description="File on the hosts that is there, and not empty.")
    timeout_seconds: float = Field(default=120, description="The longest wait, seconds.")
    interval_seconds: float = Field(default=2, description="Seconds between two looks, at most.")


class Census(Value):
    """How many workers a frontend knows of."""

    prefill: int = Field(default=0, description="Prefill workers.")
    decode: int = Field(default=0, description="Decode or aggregated workers.")


class Binding(Value):
    """What a plan's symbols stand for: addresses, directories and a shift of the ports."""

    addresses: dict[str, str] = Field(description="Node to address; symbolic (`ip-n0`) in a plan.")
    hosts: dict[str, str] = Field(
        default_factory=dict, description="Node to host name, where it is not the node's own name."
    )
    logs: str = Field(default="<LOGS>", description="Log directory.")
    job: str = Field(default="<JOB>", description="Number of the Slurm job.")
    scratch: str = Field(
        default="<SCRATCH>", description="Directory on a node's own disk, for this allocation alone."
    )

    def host(self, node: str) -> str:
        """Host name of a node."""
        return self.hosts.get(node, node)


class Endpoint(Value):
    """A place that answers HTTP."""

    node: str = Field(description="Symbolic node.")
    port: int = Field(description="Port on it.")


class Deployment(Value):
    """The facts of a configuration that every rendered command may need."""

    model_path: str = Field(description="Directory on the hosts, or hub name, of the model.")
    model_source: str | None = Field(
        default=None, description="Directory that model_path, on each node's own disk, is a copy of."
    )
    model_mount: str | None = Field(
        default=None, description="Where processes find the model in their containers; None: at model_path."
    )
    log_mount: str | None = Field(
        default=None, description="Where processes find the logs in their containers; None: as on the hosts."
    )
    served_model: str = Field(description="Name under which it is served.")
    transport: Transport = Field(description="How workers are reached: registered with Dynamo, or by HTTP.")
    gpus_per_node: int = Field(description="GPUs of a node.")
    gpu_type: str | None = Field(default=None, description="GPU model.")
    processes: tuple[ProcessPlace, ...] = Field(
        description="Every worker process, in order of role, worker and rank."
    )
    standbys: tuple[ProcessPlace, ...] = Field(
        default=(), description="Engines that stand by on the GPUs of those processes."
    )
    head: str = Field(description="The first node that no component has for itself.")
    frontend: str = Field(description="Node of the frontend, or of nginx where there are several.")
    frontends: tuple[Endpoint, ...] = Field(
        default=(), description="Node and port of each frontend process, where there may be several."
    )
    infra: str = Field(description="Node of the discovery plane.")
    public_port: int = Field(description="Port of the public API.")
    registering: bool = Field(
        default=False, description="Whether workers register with their router, which is told no URLs."
    )
    request_plane: str = Field(default="tcp", description="How Dynamo's requests reach workers.")
    event_plane: str | None = Field(default=None, description="How Dynamo's events travel; None: its choice.")
    config_dump: bool = Field(
        default=True, description="Whether engines write their resolved configuration to the logs."
    )
    visible_devices: str = Field(
        default="CUDA_VISIBLE_DEVICES", description="Variable that tells a process its GPUs."
    )
    schemes: dict[str, str] = Field(
        default_factory=dict, description="Mode to the scheme of its workers' URLs, where it is not http."
    )
    binding: Binding = Field(description="What the symbols stand for.")
    discovery: dict[str, str] = Field(
        default_factory=dict, description="Environment that names the discovery plane."
    )
    stores: dict[str, str] = Field(
        default_factory=dict, description="Environment that names the Mooncake master."
    )
    services: dict[str, tuple[str, ...]] = Field(
        default_factory=dict, description="Service that is started to the nodes of its instances, in order."
    )
    terminal: tuple[str, ...] = Field(default=(), description="Services whose end is the end of the job.")

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
        return tuple(p for p in self.processes if (p.mode, p.index) == (process.mode, process.index))

    def engines(self, process: ProcessPlace) -> tuple[ProcessPlace, ...]:
        """A process, and what stands by on its GPUs."""
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
