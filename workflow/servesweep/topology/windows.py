"""Ports of a job that shares a node with other jobs: a window of its own, where each fixed port has a place.

Window 0 is the table of `ports.py` as it stands: a job that has a node for itself keeps those ports. Two
jobs with different windows on a node have no port in common, and neither has to know of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from servesweep.topology import ports
from servesweep.topology.ports import PortBlock, PortError

# Worker processes, and further ports of data-parallel ranks, that a window has room for.
PROCESSES = 8
RANKS = 16

_BLOCKS: Mapping[PortBlock, int] = {
    **dict.fromkeys((ports.NIXL, ports.KV_EVENTS, ports.MORIIO_HANDSHAKE, ports.MORIIO_NOTIFY), RANKS),
    **dict.fromkeys((ports.WORKER_HTTP, ports.BOOTSTRAP, ports.DYNAMO_SYSTEM, ports.DIST_INIT), PROCESSES),
    **dict.fromkeys((ports.DP_RPC, ports.NCCL, ports.KVBM, ports.VLLM), PROCESSES),
    **dict.fromkeys((ports.DIRECT, ports.INTERNAL), 1),
    # A follower without HTTP uses the port after its own.
    ports.SIDECAR: PROCESSES + 1,
    ports.MASTER: 4,
}
_SINGLE = (
    ports.VLLM_DISCOVERY, ports.ROUTER_METRICS, ports.ETCD_CLIENT, ports.ETCD_PEER, ports.NATS,
    ports.MOONCAKE_RPC, ports.MOONCAKE_METADATA, ports.MOONCAKE_METRICS, ports.LMCACHE_SERVER,
    ports.LMCACHE_CONTROL, ports.RAY, ports.RAY_DASHBOARD, ports.RAY_CLIENT, ports.RAY_AGENT,
    ports.NODE_EXPORTER, ports.PROCESS_EXPORTER, ports.DCGM_EXPORTER,
)  # fmt: skip
# Strides that are smaller in a window than elsewhere.
_STRIDE = {ports.MASTER: 1}

SIZE = 840
# What the table leaves free: first the ports of jobs with GPUs, all below those that the kernel gives to
# connections (32768-60999); then, for jobs without, those above, and between them, past OpenTela's 43905.
_FREE = (
    (10400, 17400), (17700, 20000), (27300, 29000), (30100, 32768),
    (61000, 65536),
    (33000, 36300), (36400, 43900), (44000, 50000), (52400, 61000),
)  # fmt: skip


def _layout() -> dict[int, int]:
    places, at = {}, 0
    for block, count in _BLOCKS.items():
        places[block.base] = at
        at += count * _STRIDE.get(block, block.stride)
    for port in _SINGLE:
        places[port] = at
        at += 1
    assert at <= SIZE
    return places


def _windows() -> Iterator[int]:
    for first, end in _FREE:
        yield from range(first, end - SIZE + 1, SIZE)


_PLACES = _layout()
_STARTS = (0, *_windows())
# Windows 0 to 15 belong to the GPUs of a node, the further ones to jobs without a GPU.
GPU_WINDOWS = 16
WINDOWS = len(_STARTS)


def of_gpu(first: int) -> int:
    """Window of a job whose first GPU of a node has this number; Slurm gives a GPU to one job.

    Raises:
        PortError: where a node has more GPUs than there are windows.
    """
    if first >= GPU_WINDOWS:
        raise PortError(
            f"a job that begins at GPU {first} of a node has no ports of its own: ask for --exclusive"
        )
    return first


def of_cpu(first: int, cpus: int, node_has_gpus: bool) -> int:
    """Window of a job without GPUs, by the number of its first CPU of the `cpus` of the node.

    There are fewer windows than CPUs: jobs whose first CPUs are close may get the same.
    """
    lowest = GPU_WINDOWS if node_has_gpus else 0
    return lowest + first * (WINDOWS - lowest) // max(cpus, first + 1)


def within(window: int, port: int) -> int:
    """Where a port of the table, or the first one of a block, lies in a window.

    Raises:
        PortError: for a port that has no place in windows.
    """
    if window == 0:
        return port
    if port not in _PLACES:
        raise PortError(f"port {port} has no place on a node that other jobs share: ask for --exclusive")
    return _STARTS[window] + _PLACES[port]


def room(block: PortBlock) -> int:
    """How many numbers of a block a window has."""
    return _BLOCKS.get(block, 0)


def numbered(window: int, block: PortBlock, number: int) -> int:
    """The port with a number in a block.

    Raises:
        PortError: where the window has no room for it.
    """
    if window == 0:
        return block.base + block.stride * number
    if number >= room(block):
        raise PortError(
            f"a node that other jobs share has room for {room(block)} {block.name} ports, and this job needs"
            f" {number + 1}: ask for --exclusive"
        )
    return within(window, block.base) + _STRIDE.get(block, block.stride) * number
