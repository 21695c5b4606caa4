"""Where workers and their processes stand: values only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Mode = Literal["prefill", "decode", "agg"]

MODES: tuple[Mode, ...] = ("prefill", "decode", "agg")


@dataclass(frozen=True, slots=True)
class RoleShape:
    """What a role asks for: nodes of its own (or `colocate`), workers, and GPUs of one worker."""

    mode: Mode
    nodes: int | Literal["colocate"]
    workers: int
    gpus: int


@dataclass(frozen=True, slots=True)
class NodeGpus:
    """GPU indexes, ascending, on one node."""

    node: str
    gpus: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """One worker: its index within the role and its GPUs on each node, the leader's node first."""

    mode: Mode
    index: int
    places: tuple[NodeGpus, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Nodes in order of rank."""
        return tuple(place.node for place in self.places)

    @property
    def leader(self) -> str:
        """Node of rank 0."""
        return self.places[0].node

    @property
    def gpu_count(self) -> int:
        """GPUs over all nodes."""
        return sum(len(place.gpus) for place in self.places)


@dataclass(frozen=True, slots=True)
class ProcessPlace:
    """One process of a worker: its node, GPUs and ports. A port is None where the process has none.

    `rank` counts the worker's processes (0: the leader); with data parallelism by node it is the first
    data-parallel rank of the process, which runs `data_parallel_ranks` of them. `worker_nodes` are all nodes
    of the worker, the leader's first. `engine` counts the engines on these GPUs: those from 1 stand by.
    """

    mode: Mode
    index: int
    rank: int
    node: str
    gpus: tuple[int, ...]
    worker_nodes: tuple[str, ...]
    system_port: int
    nixl_port: int
    nccl_port: int
    vllm_port: int
    http_port: int | None = None
    bootstrap_port: int | None = None
    kv_events_port: int | None = None
    dp_rpc_port: int | None = None
    dist_init_port: int | None = None
    data_parallel_ranks: int = 1
    engine: int = 0

    @property
    def leader(self) -> str:
        """Node of the worker's rank 0."""
        return self.worker_nodes[0]

    @property
    def is_leader(self) -> bool:
        """Whether this is rank 0."""
        return self.rank == 0


def reserved_nodes(roles: Iterable[RoleShape]) -> int:
    """Nodes that the roles reserve; a colocated role reserves none."""
    return sum(role.nodes for role in roles if role.nodes != "colocate")
