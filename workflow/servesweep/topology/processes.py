"""From workers to processes with ports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from servesweep.topology.packing import PackingError
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
    PortBook,
)
from servesweep.topology.shapes import Mode, NodeGpus, ProcessPlace, WorkerPlace


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How vLLM shards a worker: data x tensor x pipeline = its GPUs."""

    data: int = 1
    tensor: int = 1
    pipeline: int = 1


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
    by_node = _hybrid(worker, parallel)
    # vLLM adds the data-parallel rank to one base that all processes of the worker share.
    nixl_base = book.number(NIXL, parallel.data) if by_node else None
    rank = 0
    for place in worker.places:
        ranks = len(place.gpus) // (parallel.tensor * parallel.pipeline) if by_node else 1
        owner = f"{name} rank {rank}"
        serves = by_node or rank == 0
        system = book.everywhere(DYNAMO_SYSTEM, place.node, owner)
        number = system - DYNAMO_SYSTEM.base
        nccl, vllm = NCCL.base + number * NCCL.stride, VLLM.base + number * VLLM.stride
        book.claim(place.node, nccl, owner, NCCL)
        book.claim(place.node, vllm, owner, VLLM)
        if nixl_base is not None:
            book.claim(place.node, nixl_base + rank, owner, NIXL, ranks)
        yield ProcessPlace(
            mode=worker.mode,
            index=worker.index,
            rank=rank,
            node=place.node,
            gpus=place.gpus,
            worker_nodes=worker.nodes,
            system_port=system,
            nixl_port=nixl_base if nixl_base is not None else book.everywhere(NIXL, place.node, owner),
            nccl_port=nccl,
            vllm_port=vllm,
            http_port=book.on_address(http, place.node, owner) if serves else None,
            bootstrap_port=bootstrap,
            kv_events_port=book.everywhere(KV_EVENTS, place.node, owner, ranks) if serves else None,
            dp_rpc_port=dp_rpc,
            dist_init_port=dist_init,
        )
        rank += ranks


def _hybrid(worker: WorkerPlace, parallel: Parallelism) -> bool:
    """Whether each process serves data-parallel ranks of its own.

    Raises:
        PackingError: when the parallelism and the GPUs disagree.
    """
    if parallel.data <= 1:
        return False
    shard = parallel.tensor * parallel.pipeline
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
