"""One process of a service: where it stands, beside whom, and what its placeholders say."""

from __future__ import annotations

from dataclasses import dataclass

from servesweep.topology.deployment import Deployment
from servesweep.topology.ports import MOONCAKE_METADATA, MOONCAKE_RPC
from servesweep.topology.shapes import ProcessPlace

# As in srt-slurm: https://github.com/NVIDIA/srt-slurm, `docs/services.md`.
PLACEHOLDERS = (
    "node", "node_ip", "node_id", "index", "role", "head_node", "head_ip", "infra_node", "infra_ip",
    "master_port", "metadata_port", "gpus_per_node",
    "pool_node", "pool_ip", "pool_nodes", "pool_ips", "pool_node_count",
)  # fmt: skip
# Those of instances that are attached to a worker.
OF_WORKERS = ("worker_role", "worker_index", "worker_node_rank", "worker_gpus", "worker_gpu_count")


@dataclass(frozen=True)
class Instance:
    """One instance of a service.

    `nodes` are those of all instances of the service, in order; `role` is the word by which it was placed;
    `worker` is the process that it is attached to with `per: worker`.
    """

    deployment: Deployment
    service: str
    node: str
    index: int = 0
    nodes: tuple[str, ...] = ()
    role: str = "head"
    worker: ProcessPlace | None = None

    @property
    def address(self) -> str:
        """Address of its node."""
        return self.deployment.address(self.node)

    def port(self, port: int) -> int:
        """A port of the table on its node."""
        return self.deployment.port(self.node, port)

    @property
    def first(self) -> str:
        """Address of the node of the first instance."""
        return self.deployment.address(self.nodes[0])

    @property
    def step(self) -> str:
        """Name of its step: the service's, with the node where there are several, and the worker's."""
        if self.worker is not None:
            return f"{self.service}_{self.worker.mode}_{self.worker.index}_{self.node}"
        return self.service if len(self.nodes) == 1 else f"{self.service}_{self.node}"

    @property
    def log(self) -> str:
        """Its log below the log directory, with {host} for the node's real name."""
        single = self.worker is None and len(self.nodes) == 1
        return f"service_{self.step if single else self.step.removesuffix(self.node) + '{host}'}.out"

    def placeholders(self) -> dict[str, str]:
        """What may stand in braces in its command, arguments, environment, preamble and readiness file."""
        place, binding = self.deployment, self.deployment.binding
        carrying = place.worker_nodes
        said: tuple[str | int, ...] = (
            binding.host(self.node),
            self.address,
            carrying.index(self.node) if self.node in carrying else self.index,
            self.index,
            self.role,
            binding.host(place.head),
            place.address(place.head),
            binding.host(place.infra),
            place.address(place.infra),
            place.port(place.infra, MOONCAKE_RPC),
            place.port(place.infra, MOONCAKE_METADATA),
            place.gpus_per_node,
            binding.host(self.nodes[0]),
            self.first,
            ",".join(binding.host(node) for node in self.nodes),
            ",".join(place.address(node) for node in self.nodes),
            len(self.nodes),
        )
        known = dict(zip(PLACEHOLDERS, map(str, said), strict=True))
        if self.worker is not None:
            worker = self.worker
            gpus = ",".join(map(str, worker.gpus))
            told = (worker.mode, worker.index, worker.rank, gpus, len(worker.gpus))
            known |= dict(zip(OF_WORKERS, map(str, told), strict=True))
        return known
