"""Which GPUs of which nodes a worker gets.

Roles are packed in the order prefill, decode, agg, over consecutive nodes. The algorithm is that of
srt-slurm (https://github.com/NVIDIA/srt-slurm, `allocate_endpoints`), but a worker of whole nodes never
begins on a node that already carries a part of another worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from servesweep.topology.layout_notes import beyond, counted
from servesweep.topology.shapes import MODES, Mode, NodeGpus, RoleShape, WorkerPlace, reserved_nodes


class PackingError(ValueError):
    """A layout cannot be packed; the sentence has the numbers."""


class DoesNotFitError(PackingError):
    """Workers need more nodes than there are: the first without a place, and the nodes that would do."""

    def __init__(self, message: str, mode: Mode, index: int, nodes_given: int, nodes_needed: int) -> None:
        super().__init__(message)
        self.mode = mode
        self.index = index
        self.nodes_given = nodes_given
        self.nodes_needed = nodes_needed


# Nodes that are tried one by one.
MOST_TRIED = 20_000


class _NoNodeError(Exception):
    """The cursor ran past the last node."""


def pack(
    roles: Sequence[RoleShape],
    nodes: Sequence[str],
    gpus_per_node: int,
    *,
    spread: bool = False,
    colocate: bool = False,
    exact: bool = False,
) -> tuple[WorkerPlace, ...]:
    """Place every worker of the roles on the nodes.

    A worker of fewer GPUs than a node has takes the next free GPUs of the current node; a larger one
    takes whole consecutive nodes. Decode starts on a node of its own where there is one.

    Args:
        roles: what is asked for; the order does not matter.
        nodes: the roles' nodes, in order of allocation.
        gpus_per_node: GPUs of each node.
        spread: each partial-node worker gets a node of its own.
        colocate: decode may go on on prefill's last node (also when its `nodes` is `colocate`).
        exact: a worker of several nodes takes exactly its GPUs and may share its first and last node; its
            fullest nodes come first (TensorRT-LLM under MPI).

    Returns:
        Workers in the order prefill, decode, agg, each by index.

    Raises:
        DoesNotFitError: when the nodes do not hold the workers.
        PackingError: for a worker without GPUs, or a node without.
    """
    ordered = sorted(roles, key=lambda role: MODES.index(role.mode))
    for role in ordered:
        if role.gpus < 1 or role.workers < 1 or gpus_per_node < 1:
            raise PackingError(
                f"{role.mode}: {role.workers} workers of {role.gpus} GPUs on nodes of {gpus_per_node}"
                " cannot be placed; each number is at least 1"
            )
    colocate = colocate or any(role.nodes == "colocate" for role in ordered)
    cursor = _Cursor(nodes, gpus_per_node, spread, exact)
    placed: list[WorkerPlace] = []
    for role in ordered:
        if role.mode == "decode" and not colocate:
            cursor.leave_partial_node()
        for index in range(role.workers):
            try:
                placed.append(WorkerPlace(role.mode, index, cursor.take(role.gpus)))
            except _NoNodeError:
                left = _beside(placed, role, nodes, gpus_per_node, spread) if colocate else None
                if left is not None:
                    return left
                needed = _nodes_needed(ordered, gpus_per_node, spread, colocate, exact)
                message = _does_not_fit(ordered, role, index, len(nodes), needed, gpus_per_node, colocate)
                # Who takes more than its own nodes is to blame, and not who then finds none.
                greedy = {} if colocate else _beyond_their_nodes(ordered, gpus_per_node, spread, exact)
                mode = role.mode if role.mode in greedy else next(iter(greedy), role.mode)
                if mode != role.mode:
                    message += f" ({greedy[mode]})"
                raise DoesNotFitError(message, mode, index, len(nodes), needed) from None
    return tuple(placed)


def _beside(
    placed: Sequence[WorkerPlace], role: RoleShape, nodes: Sequence[str], gpus_per_node: int, spread: bool
) -> tuple[WorkerPlace, ...] | None:
    """The workers with decode on the first nodes that have GPUs left for it; None where there are too few."""
    others = [worker for worker in placed if worker.mode != role.mode]
    free = {node: list(range(gpus_per_node)) for node in nodes}
    for worker in others:
        for place in worker.places:
            free[place.node] = [gpu for gpu in free[place.node] if gpu not in place.gpus]
    found = []
    for index in range(role.workers):
        node = next((node for node in nodes if len(free[node]) >= role.gpus), None)
        if node is None or role.mode != "decode":
            return None
        found.append(WorkerPlace(role.mode, index, (NodeGpus(node, tuple(free[node][: role.gpus])),)))
        free[node] = [] if spread else free[node][role.gpus :]
    return (*others, *found)


@dataclass
class _Cursor:
    """The next free GPU: GPUs before `offset` on node `at`, and all nodes before, are taken."""

    nodes: Sequence[str]
    gpus_per_node: int
    spread: bool
    exact: bool
    at: int = 0
    offset: int = 0

    def next_node(self) -> None:
        self.at += 1
        self.offset = 0

    def leave_partial_node(self) -> None:
        """Go to a fresh node, if there is one: without a further node, roles share the last one."""
        if self.offset and self.at + 1 < len(self.nodes):
            self.next_node()

    def take(self, gpus: int) -> tuple[NodeGpus, ...]:
        if gpus >= self.gpus_per_node and not self.exact:
            return self.take_whole_nodes(-(-gpus // self.gpus_per_node))
        if gpus <= self.gpus_per_node and self.offset + gpus > self.gpus_per_node:
            self.next_node()
        places = []
        while gpus:
            part = min(gpus, self.gpus_per_node - self.offset)
            places.append(self.take_part(part))
            gpus -= part
        if self.spread and self.offset:
            self.next_node()
        # Rank to GPU maps of MPI launches expect full nodes before partial ones.
        return tuple(sorted(places, key=lambda place: -len(place.gpus)))

    def take_whole_nodes(self, count: int) -> tuple[NodeGpus, ...]:
        if self.offset:
            self.next_node()
        return tuple(self.take_part(self.gpus_per_node) for _ in range(count))

    def take_part(self, gpus: int) -> NodeGpus:
        if self.at >= len(self.nodes):
            raise _NoNodeError
        place = NodeGpus(self.nodes[self.at], tuple(range(self.offset, self.offset + gpus)))
        self.offset += gpus
        if self.offset == self.gpus_per_node:
            self.next_node()
        return place


def _nodes_needed(
    roles: Sequence[RoleShape], gpus_per_node: int, spread: bool, colocate: bool, exact: bool
) -> int:
    """Nodes that the same packing takes when there are enough; of very many, those that the GPUs fill."""
    enough = sum(role.workers * -(-role.gpus // gpus_per_node) for role in roles) + len(roles)
    if enough > MOST_TRIED:
        return -(-_worker_gpus(roles) // gpus_per_node)
    unlimited = [str(number) for number in range(enough)]
    placed = pack(roles, unlimited, gpus_per_node, spread=spread, colocate=colocate, exact=exact)
    return 1 + max(int(node) for worker in placed for node in worker.nodes)


def _beyond_their_nodes(
    roles: Sequence[RoleShape], gpus_per_node: int, spread: bool, exact: bool
) -> dict[Mode, str]:
    """Roles whose workers take more nodes than they reserve, each with a sentence."""
    found: dict[Mode, str] = {}
    for role in roles:
        needed = _nodes_needed([role], gpus_per_node, spread, False, exact)
        if role.nodes != "colocate" and needed > role.nodes:
            found[role.mode] = beyond(role, needed)
    return found


def _does_not_fit(
    roles: Sequence[RoleShape],
    role: RoleShape,
    index: int,
    given: int,
    needed: int,
    gpus_per_node: int,
    colocate: bool,
) -> str:
    asked = " and ".join(f"{each.workers} {each.mode} x {each.gpus} GPUs" for each in roles)
    sentence = (
        f"{asked} do not fit on {counted(given)} of {gpus_per_node} GPUs:"
        f" {role.mode} worker {index} finds no place, {needed} nodes are needed"
    )
    if colocate and role.mode == "decode":
        sentence += " (colocated decode workers get the GPUs that prefill leaves free on a node)"
    return sentence


def default_gpus(mode: str, nodes: int, gpus_per_node: int, workers: int) -> int:
    """GPUs of a worker when the recipe does not say: nodes x GPUs per node / workers.

    Raises:
        PackingError: when the division leaves GPUs idle, or a worker without any.
    """
    total = nodes * gpus_per_node
    each, lost = divmod(total, workers)
    if each == 0:
        raise PackingError(
            f"{mode}: {workers} workers share {total} GPUs ({nodes} x {gpus_per_node}), so"
            f" {workers - total} get none; use fewer workers or more nodes"
        )
    if lost:
        raise PackingError(
            f"{mode}: {total} GPUs ({nodes} x {gpus_per_node}) do not divide among {workers} workers,"
            f" {lost} would be idle; set gpus"
        )
    return each


def vllm_colocates(
    roles: Sequence[RoleShape], gpus_per_node: int, *, allow: bool = False, across_nodes: bool = False
) -> bool:
    """Whether vLLM's `allow_prefill_decode_colocation` takes effect.

    It does when there are workers of both roles and all of them fit on one node, or `across_nodes` is set.
    """
    workers = {role.mode: role.workers for role in roles}
    both = workers.get("prefill", 0) > 0 and workers.get("decode", 0) > 0
    return allow and both and (across_nodes or _worker_gpus(roles) <= gpus_per_node)


def colocated_nodes(roles: Sequence[RoleShape], gpus_per_node: int, *, spread: bool = False) -> int:
    """Nodes of a vLLM deployment whose roles colocate: those that their workers fill, of those reserved."""
    filled = -(-_worker_gpus(roles) // gpus_per_node)
    return max(filled, min(_nodes_needed(roles, gpus_per_node, spread, True, False), reserved_nodes(roles)))


def _worker_gpus(roles: Sequence[RoleShape]) -> int:
    return sum(role.workers * role.gpus for role in roles)
