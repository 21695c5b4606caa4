"""One process of a service: where it stands, beside whom, and what its placeholders say."""

from __future__ import annotations

from dataclasses import dataclass

from servesweep.topology.deployment import Deployment
from servesweep.topology.ports import MOONCAKE_METADATA, MOONCAKE_RPC
from servesweep.topology.shapes import ProcessPlace

# Placeholders of instances that are attached to a worker.
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
        """What may stand in braces in its command, arguments, environment, preamble and readiness file.

        Names and meaning as in srt-slurm: https://github.com/NVIDIA/srt-slurm, `docs/services.md`.
        """
        place, binding = self.deployment, self.deployment.binding
        carrying = place.worker_nodes
        known = {
            "node": binding.host(self.node),
            "node_ip": self.address,
            "node_id": str(carrying.index(self.node) if self.node in carrying else self.index),
            "index": str(self.index),
            "role": self.role,
            "head_node": binding.host(place.head),
            "head_ip": place.address(place.head),
            "infra_node": binding.host(place.infra),
            "infra_ip": place.address(place.infra),
            "master_port": str(MOONCAKE_RPC),
            "metadata_port": str(MOONCAKE_METADATA),
            "gpus_per_node": str(place.gpus_per_node),
            "pool_node": binding.host(self.nodes[0]),
            "pool_ip": self.first,
            "pool_nodes": ",".join(binding.host(node) for node in self.nodes),
            "pool_ips": ",".join(place.address(node) for node in self.nodes),
            "pool_node_count": str(len(self.nodes)),
        }
        if self.worker is not None:
            worker = self.worker
            said = (worker.mode, worker.index, worker.rank, _joined(worker.gpus), len(worker.gpus))
            known |= dict(zip(OF_WORKERS, map(str, said), strict=True))
        return known


def _joined(gpus: tuple[int, ...]) -> str:
    return ",".join(map(str, gpus))
