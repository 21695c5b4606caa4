"""From workers to processes with ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from servesweep.topology.packing import PackingError
from servesweep.topology.port_book import PortBook
from servesweep.topology.ports import (
    BOOTSTRAP,
    DIST_INIT,
    DP_RPC,
    DYNAMO_SYSTEM,
    KV_EVENTS,
    NCCL,
    NIXL,
    VLLM,
    WORKER_HTTP,
    PortBlock,
)
from servesweep.topology.shapes import Mode, NodeGpus, ProcessPlace, WorkerPlace


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How vLLM shards a worker: data x tensor x pipeline = its GPUs.

    `per_gpu` starts a process for each data-parallel rank, where otherwise one on each node runs all ranks
    of that node.
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    per_gpu: bool = False

    @property
    def shard(self) -> int:
        """GPUs of one data-parallel rank."""
        return self.tensor * self.pipeline


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a worker that one process has; `serves` HTTP, and `registers` with its frontend."""

    place: NodeGpus
    rank: int
    ranks: int
    serves: bool
    registers: bool


def processes(
    workers: Sequence[WorkerPlace],
    *,
    book: PortBook | None = None,
    http: PortBlock = WORKER_HTTP,
    data_parallel: Mapping[Mode, Parallelism] | None = None,
) -> tuple[ProcessPlace, ...]:
    """Make one process for each node of each worker and give it its ports.

    A mode in `data_parallel` with more than one data-parallel rank, each of which fits on a node, runs
    vLLM's hybrid load balancing: every process then serves its own ranks, with an HTTP port and kv events
    ports of its own, and its rank is its first data-parallel rank.

    Raises:
        PortError: when an address has too many workers.
        PackingError: when data, tensor and pipeline parallelism do not multiply to a worker's GPUs.
    """
    book = book or PortBook()
    placed: list[ProcessPlace] = []
    for worker in workers:
        parallel = (data_parallel or {}).get(worker.mode, Parallelism())
        placed.extend(_worker_processes(worker, parallel, http, book))
    book.check()
    return tuple(placed)


def _worker_processes(
    worker: WorkerPlace, parallel: Parallelism, http: PortBlock, book: PortBook
) -> Iterator[ProcessPlace]:
    name = f"{worker.mode} {worker.index}"
    bootstrap = book.on_address(BOOTSTRAP, worker.leader, name) if worker.mode == "prefill" else None
    dp_rpc = book.on_address(DP_RPC, worker.leader, name) if parallel.data > 1 else None
    dist_init = book.on_address(DIST_INIT, worker.leader, name) if len(worker.places) > 1 else None
    by_rank = _local_ranks(worker, parallel)
    # vLLM adds the data-parallel rank to one base that all processes of the worker share.
    nixl_base = book.number(NIXL, parallel.data) if by_rank else None
    nodes = worker.nodes
    for part in _parts(worker, parallel, by_rank):
        node, owner = part.place.node, f"{name} rank {part.rank}"
        system = book.everywhere(DYNAMO_SYSTEM, node, owner)
        nccl = book.following(NCCL, node, DYNAMO_SYSTEM, system, owner)
        vllm = book.following(VLLM, node, DYNAMO_SYSTEM, system, owner)
        yield ProcessPlace(
            mode=worker.mode,
            index=worker.index,
            rank=part.rank,
            node=node,
            gpus=part.place.gpus,
            worker_nodes=nodes,
            system_port=system,
            nixl_port=_nixl(book, node, owner, part, nixl_base),
            nccl_port=nccl,
            vllm_port=vllm,
            http_port=book.on_address(http, node, owner) if part.serves else None,
            bootstrap_port=bootstrap,
            kv_events_port=book.everywhere(KV_EVENTS, node, owner, part.ranks) if part.registers else None,
            dp_rpc_port=dp_rpc,
            dist_init_port=dist_init,
            data_parallel_ranks=part.ranks,
        )


def _nixl(book: PortBook, node: str, owner: str, part: _Part, base: int | None) -> int:
    """A process's port, or the one to which its engine adds its data-parallel ranks."""
    if base is None:
        return book.everywhere(NIXL, node, owner)
    if book.shared(node):
        # Each process is told its base: here it is its own window's.
        return book.everywhere(NIXL, node, owner, part.ranks) - part.rank
    book.claim(node, base + part.rank, owner, NIXL, part.ranks)
    return base


def _parts(worker: WorkerPlace, parallel: Parallelism, by_rank: bool) -> Iterator[_Part]:
    """What each process of the worker has, in order of rank."""
    rank = 0
    for place in worker.places:
        if not by_rank:
            yield _Part(place, rank, 1, serves=rank == 0, registers=rank == 0)
            rank += 1
            continue
        width = parallel.shard if parallel.per_gpu else len(place.gpus)
        for at in range(0, len(place.gpus), width):
            ranks = width // parallel.shard
            share = NodeGpus(place.node, place.gpus[at : at + width])
            yield _Part(share, rank, ranks, serves=rank == 0 or not parallel.per_gpu, registers=True)
            rank += ranks


def _local_ranks(worker: WorkerPlace, parallel: Parallelism) -> bool:
    """Whether each process runs data-parallel ranks of its own, and no rank spans nodes.

    Raises:
        PackingError: when the parallelism and the GPUs disagree.
    """
    if parallel.data <= 1:
        return False
    shard = parallel.shard
    if parallel.data * shard != worker.gpu_count:
        raise PackingError(
            f"{worker.mode}: data parallelism {parallel.data} x tensor {parallel.tensor} x pipeline"
            f" {parallel.pipeline} makes {parallel.data * shard} GPUs, but a worker has {worker.gpu_count}"
        )
    if shard > min(len(place.gpus) for place in worker.places):
        return False
    if uneven := next((place for place in worker.places if len(place.gpus) % shard), None):
        raise PackingError(_uneven(worker, uneven, shard))
    return True


def _uneven(worker: WorkerPlace, place: NodeGpus, shard: int) -> str:
    return (
        f"{worker.mode}: the {len(place.gpus)} GPUs on {place.node} do not divide among data-parallel ranks"
        f" of {shard} GPUs each"
    )
