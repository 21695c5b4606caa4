"""Which node is for what: roles, pools, and the components with a node of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from servesweep.topology.shapes import WorkerPlace

FrontendSpot = Literal["head", "first_decode", "dedicated"]
BenchmarkSpot = Literal["head", "last_decode", "dedicated"]
DiscoverySpot = Literal["head", "dedicated"]


class PlacementError(ValueError):
    """A component is to stand on a node that does not exist."""


@dataclass(frozen=True, slots=True)
class Carving:
    """An allocation cut into parts, before workers are packed.

    `nodes` are all nodes in order of allocation: the dedicated nodes of the discovery plane and the
    frontend (in this order), the roles' nodes, the pools in order of declaration, the dedicated node of the
    benchmark client. The client comes last because the batch script runs on the first node, and would
    disturb the measurement.

    `head` is the first node that is not dedicated to a component: a role's, else a pool's. Where nothing is
    dedicated to discovery or frontend it is the first node of the allocation, which runs the supervisor.
    """

    nodes: tuple[str, ...]
    roles: tuple[str, ...]
    pools: Mapping[str, tuple[str, ...]]
    head: str
    infra: str | None
    frontend: str | None
    client: str | None

    @property
    def supervisor(self) -> str:
        """Node of the batch script: the first of the allocation."""
        return self.nodes[0]


@dataclass(frozen=True, slots=True)
class Seats:
    """Node of each component."""

    head: str
    infra: str
    frontend: str
    client: str


def carve(
    role_nodes: int,
    pools: Mapping[str, int] | None = None,
    *,
    frontend: FrontendSpot = "head",
    benchmark: BenchmarkSpot = "head",
    discovery: DiscoverySpot = "head",
) -> Carving:
    """Cut an allocation into parts, with symbolic nodes `n0`, `n1`, …

    Each dedicated component adds one node of its own. With neither roles nor pools one plain node is the
    head.

    Args:
        role_nodes: nodes that the roles reserve.
        pools: nodes of each service that owns nodes, in order of declaration.
        frontend: where the frontend stands.
        benchmark: where the benchmark client stands.
        discovery: where etcd and NATS stand.
    """
    sizes = dict(pools or {})
    shared = role_nodes + sum(sizes.values())
    front = [name for name, spot in (("infra", discovery), ("frontend", frontend)) if spot == "dedicated"]
    total = len(front) + max(shared, 1) + (benchmark == "dedicated")
    nodes = tuple(f"n{number}" for number in range(total))
    own = dict(zip(front, nodes, strict=False))
    at = len(front) + role_nodes
    carved = {}
    for name, size in sizes.items():
        carved[name] = nodes[at : at + size]
        at += size
    return Carving(
        nodes=nodes,
        roles=nodes[len(front) : len(front) + role_nodes],
        pools=carved,
        head=nodes[len(front)],
        infra=own.get("infra"),
        frontend=own.get("frontend"),
        client=nodes[-1] if benchmark == "dedicated" else None,
    )


def seat(
    carving: Carving,
    workers: Sequence[WorkerPlace],
    *,
    frontend: FrontendSpot = "head",
    benchmark: BenchmarkSpot = "head",
) -> Seats:
    """Say on which node each component runs, now that the workers are packed.

    `first_decode` and `last_decode` are the first and the last node, in order of allocation, that carries a
    decode worker.

    Raises:
        PlacementError: when such a node is asked for and there is no decode role.
    """
    carrying = {node for worker in workers if worker.mode == "decode" for node in worker.nodes}
    decode = [node for node in carving.nodes if node in carrying]
    for key, spot in (("frontend", frontend), ("benchmark", benchmark)):
        if spot in ("first_decode", "last_decode") and not decode:
            raise PlacementError(
                f"{key}.placement.node: {spot} needs a decode role, and this recipe has none"
            )
    return Seats(
        head=carving.head,
        infra=carving.infra or carving.head,
        frontend=carving.frontend or (decode[0] if frontend == "first_decode" else carving.head),
        client=carving.client or (decode[-1] if benchmark == "last_decode" else carving.head),
    )
