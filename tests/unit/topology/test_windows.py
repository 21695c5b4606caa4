"""Two jobs on one node have no port in common, whatever each of them runs."""

from __future__ import annotations

from dataclasses import astuple
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servesweep.recipe.dynamo import DynamoSection
from servesweep.topology import ports
from servesweep.topology.packing import pack
from servesweep.topology.port_book import PortBook
from servesweep.topology.ports import PortBlock, PortError
from servesweep.topology.processes import Parallelism, processes
from servesweep.topology.shapes import ProcessPlace, RoleShape
from servesweep.topology.windows import (
    GPU_WINDOWS,
    WINDOWS,
    numbered,
    of_cpu,
    of_gpu,
    room,
    within,
)

BLOCKS = [
    block
    for block in vars(ports).values()
    # Replicas have whole nodes, and their port is fixed.
    if isinstance(block, PortBlock) and block is not ports.REPLICA_HTTP
]
SINGLE = [
    port
    for name, port in vars(ports).items()
    if isinstance(port, int) and name not in ("HIGHEST", "REPLICA_ROUTER")
]
# Of Slurm, OpenTela, the exporters that sites run, and NFS.
OTHERS = {6817, 6818, 6819, *ports.OPENTELA, 9100, 9400, 2049}
EPHEMERAL = range(32768, 61000)


def taken(window: int) -> set[int]:
    """Every port that a job may have in a window; in window 0 with a hundred processes."""
    found = {within(window, port) for port in SINGLE}
    for block in BLOCKS:
        for number in range(room(block) if window or block is ports.MASTER else 100):
            first = numbered(window, block, number)
            # Engines take further ports upwards, as far as the next number.
            found |= set(range(first, first + (1 if block is ports.MASTER else block.stride)))
    return found


def test_no_two_windows_have_a_port_in_common() -> None:
    assert all(not taken(one) & taken(other) for one, other in combinations(range(WINDOWS), 2))


def test_within_a_window_every_port_has_one_owner() -> None:
    singles = len(set(SINGLE)) - 1  # PUBLIC is also the first of a block
    blocks = {block.base: block for block in BLOCKS}.values()
    strides = sum(room(block) * (1 if block is ports.MASTER else block.stride) for block in blocks)
    assert len(taken(3)) == singles + strides


def test_no_window_has_a_port_of_somebody_else() -> None:
    for window in range(1, WINDOWS):
        assert not taken(window) & OTHERS
        assert max(taken(window)) <= ports.HIGHEST
        assert min(taken(window)) > 1024


def test_ports_of_jobs_with_gpus_are_none_that_the_kernel_gives_to_connections() -> None:
    assert all(not taken(window) & set(EPHEMERAL) for window in range(1, GPU_WINDOWS))


def test_the_first_window_is_the_table_as_it_stands() -> None:
    assert within(0, ports.PUBLIC) == 8000
    assert numbered(0, ports.WORKER_HTTP, 200) == 6100 + 32 * 200


def test_a_port_that_a_person_wrote_has_no_place_in_a_window() -> None:
    with pytest.raises(PortError, match="port 9999 has no place on a node that other jobs share"):
        within(1, 9999)


def test_the_sidecars_default_is_the_one_of_the_recipes() -> None:
    assert DynamoSection().sidecar_port == ports.SIDECAR.base


def on_one_node(first_gpu: int, worker_gpus: list[int], window: int) -> tuple[ProcessPlace, ...]:
    roles = [
        RoleShape(mode, 1, len(worker_gpus), worker_gpus[0])  # type: ignore[arg-type]
        for mode in (("prefill", "decode") if len(worker_gpus) % 2 else ("agg",))
    ]
    total = sum(role.workers * role.gpus for role in roles)
    workers = pack(roles, ["n0"], total, colocate=True)
    parallel = {role.mode: Parallelism(data=role.gpus) for role in roles if role.gpus > 1}
    return processes(workers, book=PortBook(windows={"n0": window}), data_parallel=parallel)


def listening(placed: tuple[ProcessPlace, ...], parallel_base: bool = True) -> set[int]:
    """The ports of processes, with the ranges that engines take from a base."""
    found: set[int] = set()
    for process in placed:
        ranks = range(process.data_parallel_ranks)
        shift = process.rank if process.data_parallel_ranks > 1 else 0
        found |= {process.nixl_port + shift + rank for rank in ranks}
        if process.kv_events_port is not None:
            found |= {process.kv_events_port + rank for rank in ranks}
        found |= set(range(process.vllm_port, process.vllm_port + ports.VLLM.stride))
        found |= {process.system_port, process.nccl_port}
        if process.http_port is not None:
            found |= set(range(process.http_port, process.http_port + ports.WORKER_HTTP.stride))
        found |= {
            port for port in (process.bootstrap_port, process.dp_rpc_port, process.dist_init_port) if port
        }
    return found


@settings(deadline=None)
@given(st.permutations(range(8)), st.integers(1, 7), st.integers(1, 4), st.integers(1, 4))
def test_any_two_jobs_on_the_gpus_of_a_node_listen_on_different_ports(
    gpus: list[int], cut: int, left: int, right: int
) -> None:
    """Each begins at the lowest of its GPUs, in whatever order Slurm has given them out."""
    one, other = sorted(gpus[:cut]), sorted(gpus[cut:])
    jobs = []
    for held, width in ((one, left), (other, right)):
        width = min(width, len(held))
        count = max(1, len(held) // width // 2)
        jobs.append(listening(on_one_node(held[0], [width] * count, of_gpu(held[0]))))
    assert not jobs[0] & jobs[1]


def test_on_a_shared_node_numbers_count_from_its_own_first_process() -> None:
    workers = pack([RoleShape("agg", 2, 8, 1)], ["n0", "n1"], 4)
    alone = processes(workers)
    shared = processes(workers, book=PortBook(windows={"n1": 4}))
    assert [astuple(p) for p in shared[:4]] == [astuple(p) for p in alone[:4]]
    assert [p.system_port for p in shared[4:]] == [numbered(4, ports.DYNAMO_SYSTEM, n) for n in range(4)]
    assert [p.http_port for p in shared[4:]] == [numbered(4, ports.WORKER_HTTP, n) for n in range(4)]


def test_an_engine_that_adds_its_rank_is_told_a_base_below_its_window() -> None:
    workers = pack([RoleShape("agg", 2, 1, 8)], ["n0", "n1"], 4)
    placed = processes(workers, book=PortBook(windows={"n1": 2}), data_parallel={"agg": Parallelism(data=8)})
    assert [process.rank for process in placed] == [0, 4]
    assert placed[0].nixl_port == 5400
    assert placed[1].nixl_port + placed[1].rank == within(2, ports.NIXL.base)


def test_too_many_processes_for_a_shared_node_are_refused() -> None:
    workers = pack([RoleShape("agg", 1, 9, 1)], ["n0"], 9)
    with pytest.raises(PortError) as refused:
        processes(workers, book=PortBook(windows={"n0": 1}))
    assert str(refused.value) == (
        "agg 8 rank 0 has no Dynamo system port: n0 is shared with other jobs, and leaves this one 8 of them:"
        " ask for whole nodes (--exclusive)"
    )


@pytest.mark.parametrize(
    ("first", "cpus", "node_has_gpus", "window"),
    [(0, 64, True, 16), (63, 64, True, WINDOWS - 1), (0, 64, False, 0), (4, 64, False, 3)],
)
def test_jobs_without_gpus_begin_at_a_cpu(first: int, cpus: int, node_has_gpus: bool, window: int) -> None:
    assert of_cpu(first, cpus, node_has_gpus) == window


def test_a_node_of_more_gpus_than_there_are_windows() -> None:
    with pytest.raises(PortError, match="begins at GPU 16"):
        of_gpu(16)
