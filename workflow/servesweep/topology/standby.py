"""Engines that stand by on the GPUs of a worker, with ports of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from servesweep.topology.port_book import PortBook
from servesweep.topology.ports import DYNAMO_SYSTEM, KV_EVENTS, NCCL, NIXL, VLLM
from servesweep.topology.shapes import Mode, ProcessPlace


def standbys(
    placed: Sequence[ProcessPlace], counts: Mapping[Mode, int], book: PortBook
) -> tuple[ProcessPlace, ...]:
    """Twins of each process, as many as its role asks for: same GPUs and ranks, further ports of the book.

    Raises:
        PortError: when an address has too many workers.
    """
    found = tuple(_twins(placed, counts, book))
    book.check()
    return found


def _twins(
    placed: Sequence[ProcessPlace], counts: Mapping[Mode, int], book: PortBook
) -> Iterator[ProcessPlace]:
    for process in placed:
        for engine in range(1, counts.get(process.mode, 0) + 1):
            owner = f"{process.mode} {process.index} rank {process.rank} engine {engine}"
            system = book.everywhere(DYNAMO_SYSTEM, process.node, owner)
            publishes = process.kv_events_port is not None
            yield replace(
                process,
                engine=engine,
                system_port=system,
                nixl_port=book.everywhere(NIXL, process.node, owner),
                nccl_port=book.following(NCCL, process.node, DYNAMO_SYSTEM, system, owner),
                vllm_port=book.following(VLLM, process.node, DYNAMO_SYSTEM, system, owner),
                # Dynamo asks no engine by HTTP.
                http_port=None,
                kv_events_port=book.everywhere(KV_EVENTS, process.node, owner) if publishes else None,
            )
