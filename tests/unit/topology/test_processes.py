import pytest

from servesweep.topology.packing import PackingError, pack
from servesweep.topology.port_book import PortBook
from servesweep.topology.ports import REPLICA_HTTP, WORKER_HTTP, PortBlock, PortError
from servesweep.topology.processes import Parallelism, processes
from servesweep.topology.shapes import ProcessPlace, RoleShape, WorkerPlace


def nodes(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def one_machine() -> PortBook:
    return PortBook(address_of=lambda node: "127.0.0.1")


DISAGGREGATED = pack([RoleShape("prefill", 2, 2, 8), RoleShape("decode", 2, 1, 16)], nodes(4), 8)


def test_ports_repeat_on_every_node_but_global_numbers_do_not() -> None:
    first, second, leader, follower = processes(DISAGGREGATED)
    assert first == ProcessPlace(
        mode="prefill",
        index=0,
        rank=0,
        node="n0",
        gpus=tuple(range(8)),
        worker_nodes=("n0",),
        system_port=7500,
        nixl_port=5400,
        nccl_port=17500,
        vllm_port=20000,
        http_port=6100,
        bootstrap_port=7200,
        kv_events_port=5550,
    )
    assert (second.http_port, second.bootstrap_port) == (6100, 7200)
    assert (second.system_port, second.nixl_port, second.kv_events_port) == (7501, 5401, 5551)
    assert (leader.http_port, leader.bootstrap_port, leader.kv_events_port) == (6100, None, 5552)
    assert (leader.dist_init_port, follower.dist_init_port) == (8300, 8300)
    assert (follower.rank, follower.node, follower.leader, follower.is_leader) == (1, "n3", "n2", False)
    assert (follower.http_port, follower.kv_events_port) == (None, None)
    assert (follower.system_port, follower.nixl_port, follower.vllm_port) == (7503, 5403, 20150)


def test_workers_of_one_node_have_their_own_ports() -> None:
    workers = pack([RoleShape("prefill", 1, 2, 2), RoleShape("decode", "colocate", 2, 2)], nodes(1), 8)
    placed = processes(workers)
    assert [p.http_port for p in placed] == [6100, 6132, 6164, 6196]
    assert [p.bootstrap_port for p in placed] == [7200, 7201, None, None]
    assert [p.kv_events_port for p in placed] == [5550, 5551, 5552, 5553]


def every_port(process: ProcessPlace) -> list[int | None]:
    """Ports that a process binds; a follower only knows its leader's bootstrap, dist-init and RPC ports."""
    own = [process.system_port, process.nixl_port, process.nccl_port, process.vllm_port]
    own += [process.http_port, process.kv_events_port]
    if process.is_leader:
        own += [process.bootstrap_port, process.dist_init_port, process.dp_rpc_port]
    return own


@pytest.mark.parametrize(
    "workers",
    [
        DISAGGREGATED,
        pack([RoleShape("prefill", 2, 1, 16), RoleShape("decode", 2, 1, 16)], nodes(4), 8),
        pack([RoleShape("prefill", 2, 8, 2), RoleShape("decode", 2, 8, 2)], nodes(4), 8),
    ],
)
def test_four_virtual_nodes_on_one_machine_never_share_a_port(workers: tuple[WorkerPlace, ...]) -> None:
    placed = processes(workers, book=one_machine())
    assert len({p.node for p in placed}) == 4
    ports = [port for process in placed for port in every_port(process) if port is not None]
    assert len(ports) == len(set(ports))
    http = sorted(p.http_port for p in placed if p.http_port)
    assert http == [6100 + 32 * number for number in range(len(http))]


def test_one_machine_holds_34_workers_and_says_so() -> None:
    def agg(count: int) -> tuple[WorkerPlace, ...]:
        return pack([RoleShape("prefill", 1, count, 1)], nodes(count), 1)

    assert len(processes(agg(34), book=one_machine())) == 34
    with pytest.raises(PortError) as caught:
        processes(agg(35), book=one_machine())
    assert str(caught.value) == (
        "the worker HTTP port of prefill 34 rank 0 and the prefill bootstrap port of prefill 0"
        " both need port 7200 of 127.0.0.1: too many workers on one address"
    )


def test_a_large_cluster_may_number_beyond_the_next_block_since_addresses_differ() -> None:
    workers = pack([RoleShape("agg", 200, 200, 8)], nodes(200), 8)
    assert processes(workers)[-1].nixl_port == 5599


def test_replicas_serve_8080_on_each_head() -> None:
    workers = pack([RoleShape("agg", 4, 2, 16)], nodes(4), 8)
    assert [p.http_port for p in processes(workers, http=REPLICA_HTTP)] == [8080, None, 8080, None]
    local = processes(workers, http=REPLICA_HTTP, book=one_machine())
    assert [p.http_port for p in local if p.is_leader] == [8080, 8081]


def test_vllm_data_parallelism_by_node() -> None:
    workers = pack([RoleShape("prefill", 2, 1, 16), RoleShape("decode", 1, 1, 8)], nodes(3), 8)
    first, second, decode = processes(workers, data_parallel={"prefill": Parallelism(data=8, tensor=2)})
    assert (first.rank, second.rank) == (0, 4)
    assert (first.http_port, second.http_port) == (6100, 6100)
    assert (first.kv_events_port, second.kv_events_port, decode.kv_events_port) == (5550, 5554, 5558)
    assert (first.nixl_port, second.nixl_port, decode.nixl_port) == (5400, 5400, 5408)
    assert (first.dp_rpc_port, second.dp_rpc_port, decode.dp_rpc_port) == (8400, 8400, None)
    assert (first.bootstrap_port, second.bootstrap_port) == (7200, 7200)


def test_data_parallel_ranks_on_one_machine_do_not_collide() -> None:
    workers = pack([RoleShape("prefill", 2, 1, 16), RoleShape("decode", 2, 1, 16)], nodes(4), 8)
    parallel = Parallelism(data=16)
    placed = processes(workers, book=one_machine(), data_parallel={"prefill": parallel, "decode": parallel})
    assert [p.http_port for p in placed] == [6100, 6132, 6164, 6196]
    assert [p.dp_rpc_port for p in placed] == [8400, 8400, 8401, 8401]


def test_data_parallel_ranks_that_span_nodes_are_ordinary_processes() -> None:
    workers = pack([RoleShape("agg", 4, 1, 32)], nodes(4), 8)
    placed = processes(workers, data_parallel={"agg": Parallelism(data=2, tensor=16)})
    assert [p.rank for p in placed] == [0, 1, 2, 3]
    assert [p.http_port for p in placed] == [6100, None, None, None]
    assert {p.dp_rpc_port for p in placed} == {8400}


@pytest.mark.parametrize(
    ("gpus", "parallel", "message"),
    [
        (
            8,
            Parallelism(data=4),
            "data parallelism 4 x tensor 1 x pipeline 1 makes 4 GPUs, but a worker has 8",
        ),
        (
            24,
            Parallelism(data=8, tensor=3),
            "the 8 GPUs on n0 do not divide among data-parallel ranks of 3 GPUs each",
        ),
    ],
)
def test_parallelism_that_contradicts_the_gpus(gpus: int, parallel: Parallelism, message: str) -> None:
    workers = pack([RoleShape("agg", 3, 1, gpus)], nodes(3), 8)
    with pytest.raises(PackingError, match=message):
        processes(workers, data_parallel={"agg": parallel})


def test_services_may_claim_ports_of_the_same_book() -> None:
    book = one_machine()
    book.claim("n0", 7501, "a service")
    with pytest.raises(
        PortError, match=r"a service and the Dynamo system port of prefill 1 rank 0 both need port 7501"
    ):
        processes(DISAGGREGATED, book=book)


def test_no_port_is_beyond_the_highest() -> None:
    book = PortBook()
    assert book.on_address(PortBlock("edge", 65535), "n0", "one") == 65535
    book.check()
    book.on_address(PortBlock("edge", 65535), "n0", "two")
    with pytest.raises(PortError, match="the edge port of two would be 65536, beyond 65535"):
        book.check()


def test_a_block_s_number_owns_its_whole_stride() -> None:
    book = PortBook()
    assert book.on_address(WORKER_HTTP, "n0", "a worker") == 6100
    book.claim("n0", 6131, "a service")
    with pytest.raises(PortError, match="both need port 6131 of n0"):
        book.check()
