"""Instances of services on two nodes of a small deployment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from servesweep.services.instance import Instance
from servesweep.topology.deployment import Binding, Deployment
from servesweep.topology.shapes import ProcessPlace

BINDING = Binding(
    addresses={"n0": "10.0.0.1", "n1": "10.0.0.2"},
    hosts={"n0": "rack1", "n1": "rack2"},
    logs="/runs/7/logs",
    scratch="/scratch/servesweep-job-17",
)
WORKER = ProcessPlace(
    mode="decode", index=3, rank=1, node="n1", gpus=(2, 3), worker_nodes=("n0", "n1"),
    system_port=7500, nixl_port=5400, nccl_port=17500, vllm_port=20000,
)  # fmt: skip
DEPLOYMENT = Deployment(
    model_path="/models/tiny",
    served_model="tiny",
    transport="dynamo",
    gpus_per_node=4,
    processes=(WORKER,),
    head="n0",
    frontend="n0",
    infra="n0",
    public_port=8000,
    binding=BINDING,
    stores={"MOONCAKE_MASTER": "10.0.0.1:8700"},
)


@pytest.fixture
def binding() -> Binding:
    return BINDING


@pytest.fixture
def instance() -> Callable[..., Instance]:
    """An instance on a node; of a service on both nodes where they are named."""

    def made(
        node: str = "n0", *, nodes: tuple[str, ...] = (), worker: bool = False, logs: str | None = None
    ) -> Instance:
        deployment = replace(DEPLOYMENT, log_mount=logs)
        on = nodes or (node,)
        return Instance(deployment, "thing", node, on.index(node), on, "workers", WORKER if worker else None)

    return made
