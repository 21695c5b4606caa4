"""vLLM's command lines: data parallelism, several nodes, connectors, and the ports in its environment."""

from collections.abc import Callable, Mapping

import pytest

from servesweep.engines.kv_connectors import transfer_config
from servesweep.plan.plan import Plan, Step
from servesweep.recipe.problems import RecipeError

Workers = Callable[..., dict[str, Step]]

DYNAMO = "python3 -m dynamo.vllm --model /models/tiny --served-model-name tiny"
NIXL = '--kv-transfer-config {"kv_connector":"NixlConnector","kv_role":"kv_both"}'
ALL = "--device-ids 0,1,2,3,4,5,6,7"


def words(step: Step) -> str:
    return " ".join(step.command.argv)


def ports(step: Step) -> Mapping[str, str]:
    """The variables that vLLM itself reads."""
    return {name: value for name, value in step.command.env.items() if "VLLM" in name}


HYBRID = (
    "engine: vllm\n"
    "roles:\n"
    "  prefill: {nodes: 1, workers: 2}\n"
    "  decode: {nodes: 2, args: {data-parallel-size: 16, data_parallel_rpc_port: 13345, enable-ep: true}}\n"
)


def test_each_node_of_a_data_parallel_worker_serves_its_own_ranks(plan: Callable[..., Plan]) -> None:
    found = plan(HYBRID)
    steps = {step.name: step for step in found.steps}
    rest = "--request-plane tcp --dump-config-to <LOGS>/{}_config.json --data-parallel-size 16 --enable-ep"
    decode = f"{DYNAMO} --disaggregation-mode decode {NIXL} {ALL} --data-parallel-size-local 8"
    meeting = "--data-parallel-address ip-n1 --data-parallel-rpc-port 8400 --data-parallel-hybrid-lb"
    assert words(steps["decode_0"]) == (
        f"{decode} --data-parallel-start-rank 0 {meeting} {rest.format('decode_0')}"
    )
    assert words(steps["decode_0_r8"]) == (
        f"{decode} --data-parallel-start-rank 8 {meeting} {rest.format('decode_0_r8')}"
    )
    # Ports of KV events for each rank, one base of side channels for all of them, and no VLLM_PORT.
    assert [ports(steps[name]) for name in ("prefill_1", "decode_0", "decode_0_r8")] == [
        {
            "VLLM_NIXL_SIDE_CHANNEL_HOST": "ip-n0",
            "VLLM_NIXL_SIDE_CHANNEL_PORT": "5401",
            "DYN_VLLM_KV_EVENT_PORT": "5551",
            "VLLM_PORT": "20050",
        },
        {
            "VLLM_NIXL_SIDE_CHANNEL_HOST": "ip-n1",
            "VLLM_NIXL_SIDE_CHANNEL_PORT": "5402",
            "DYN_VLLM_KV_EVENT_PORT": "5552",
        },
        {
            "VLLM_NIXL_SIDE_CHANNEL_HOST": "ip-n2",
            "VLLM_NIXL_SIDE_CHANNEL_PORT": "5402",
            "DYN_VLLM_KV_EVENT_PORT": "5560",
        },
    ]
    # Both nodes of the decode worker register, so the gate waits for both, and asks both.
    assert (found.expected.prefill, found.expected.decode) == (2, 2)
    assert [step.probe is not None for step in found.steps if step.kind == "worker"] == [True] * 4


def test_the_older_way_is_a_process_a_rank(plan: Callable[..., Plan]) -> None:
    found = plan(
        "engine: {type: vllm, dp_launch_mode: per_gpu}\n"
        "roles:\n"
        "  agg:\n"
        "    {nodes: 1, gpus: 4, args: {data-parallel-size: 2, tensor-parallel-size: 2, connector: 'null'}}\n"
    )
    steps = [step for step in found.steps if step.kind == "worker"]
    sizes = "--data-parallel-size 2 --tensor-parallel-size 2"
    dump = "--dump-config-to <LOGS>/{}_config.json"
    assert {step.name: words(step) for step in steps} == {
        name: (
            f"{DYNAMO} --device-ids {ids} --data-parallel-rank {rank} --data-parallel-address ip-n0"
            f" --data-parallel-rpc-port 8400 --request-plane tcp {dump.format(name)} {sizes}"
        )
        for name, ids, rank in (("agg_0", "0,1", 0), ("agg_0_r1", "2,3", 1))
    }
    assert [ports(step)["DYN_VLLM_KV_EVENT_PORT"] for step in steps] == ["5550", "5551"]
    assert [step.log for step in steps] == ["{host}_agg_w0_r0.out", "{host}_agg_w0_r1.out"]
    assert found.expected.decode == 2


def test_ranks_larger_than_a_node_meet_at_the_leader(plan: Callable[..., Plan]) -> None:
    found = plan(
        "engine: vllm\nroles: {agg: {nodes: 4, args: {data-parallel-size: 2, tensor-parallel-size: 16}}}\n"
    )
    steps = [step for step in found.steps if step.kind == "worker"]
    meeting = "--data-parallel-address ip-n0 --data-parallel-rpc-port 8400"
    for rank, step in enumerate(steps):
        headless = " --headless" if rank else ""
        assert words(step).partition(f"{ALL} ")[2] == (
            f"--master-addr ip-n0 --nnodes 4 --node-rank {rank} {meeting}{headless} --request-plane tcp"
            f" --dump-config-to <LOGS>/{step.name}_config.json"
            " --data-parallel-size 2 --tensor-parallel-size 16"
        )
    assert found.expected.decode == 1
    assert [step.probe is not None for step in steps] == [True, False, False, False]


def test_its_own_server_over_nodes(plan: Callable[..., Plan]) -> None:
    found = plan(
        "engine: {type: vllm, vllm_serve_binary: vllm-rs}\n"
        "roles: {agg: {nodes: 2, args: {api-server-count: 4, tensor-parallel-size: 16}}}\n"
        "frontend: {type: vllm}\n"
    )
    assert [words(step) for step in found.steps] == [
        f"vllm-rs serve /models/tiny --host 0.0.0.0 --port 8000 --served-model-name tiny {ALL}"
        " --master-addr ip-n0 --nnodes 2 --node-rank 0 --api-server-count 4 --tensor-parallel-size 16",
        f"vllm-rs serve /models/tiny --served-model-name tiny {ALL} --master-addr ip-n0 --nnodes 2"
        " --node-rank 1 --headless --tensor-parallel-size 16",
    ]


def test_a_router_gets_every_part_of_a_data_parallel_worker(plan: Callable[..., Plan]) -> None:
    found = plan(HYBRID + "frontend: {type: vllm-router}\n")
    assert words(found.steps[-1]) == (
        "python3 -m vllm_router.launch_router --vllm-pd-disaggregation --prefill http://ip-n0:6100 5400"
        " --prefill http://ip-n0:6132 5401 --decode http://ip-n1:6100 --decode http://ip-n2:6100"
        " --host 0.0.0.0 --port 8000 --disable-retries"
    )
    assert (found.expected.prefill, found.expected.decode) == (2, 2)


def test_a_router_is_told_the_ranks_behind_a_url_where_there_is_one_number(plan: Callable[..., Plan]) -> None:
    role = "{{nodes: 1, args: {{data-parallel-size: {}}}}}"
    roles = f"prefill: {role.format(8)}, decode: {role.format(8)}"
    found = plan(f"engine: vllm\nroles: {{{roles}}}\nfrontend: {{type: vllm-router}}\n")
    assert "--intra-node-data-parallel-size 8 --host" in words(found.steps[-1])
    mixed = f"prefill: {role.format(8)}, decode: {{nodes: 1}}"
    found = plan(f"engine: vllm\nroles: {{{mixed}}}\nfrontend: {{type: vllm-router}}\n")
    assert words(found.steps[-1]).endswith("--port 8000 --disable-retries")


def test_a_process_a_rank_needs_dynamo(plan: Callable[..., Plan]) -> None:
    with pytest.raises(RecipeError, match="a process a rank is known to Dynamo alone"):
        plan(
            "engine: {type: vllm, dp_launch_mode: per_gpu}\n"
            "roles: {agg: {nodes: 1, args: {data-parallel-size: 8}}}\n"
            "frontend: {type: vllm-router}\n"
        )


@pytest.mark.parametrize(
    ("connector", "prefill", "decode"),
    [
        ("nixl", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}', None),
        ("LMCache", '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}', None),
        (
            "kvbm",
            '{"kv_connector":"DynamoConnector","kv_connector_module_path":"kvbm.vllm_integration.connector",'
            '"kv_role":"kv_both"}',
            None,
        ),
        (
            "mooncake",
            '{"kv_connector":"MooncakeConnector","kv_role":"kv_producer"}',
            '{"kv_connector":"MooncakeConnector","kv_role":"kv_consumer"}',
        ),
        (
            "lmcache-mp",
            '{"kv_connector":"LMCacheMPConnector",'
            '"kv_connector_module_path":"lmcache.integration.vllm.lmcache_mp_connector","kv_role":"kv_both",'
            '"kv_connector_extra_config":{"lmcache.mp.host":"tcp://localhost","lmcache.mp.port":8750}}',
            None,
        ),
        ('{"kv_connector": "Mine"}', '{"kv_connector": "Mine"}', None),
    ],
)
def test_connectors(connector: str, prefill: str, decode: str | None) -> None:
    assert transfer_config(connector, "prefill") == prefill
    assert transfer_config(connector, "decode") == (decode or prefill)
    assert transfer_config("none", "prefill") is None


def test_ports_of_connectors(workers: Workers) -> None:
    roles = "roles: {prefill: {nodes: 1, args: {connector: mooncake}}, decode: {nodes: 1}}\n"
    steps = workers("engine: {type: vllm, connector: kvbm}\n" + roles)
    assert ports(steps["prefill_0"])["VLLM_MOONCAKE_BOOTSTRAP_PORT"] == "7200"
    kvbm = {name: value for name, value in steps["decode_0"].command.env.items() if "KVBM" in name}
    assert kvbm == {"DYN_KVBM_LEADER_ZMQ_PUB_PORT": "5802", "DYN_KVBM_LEADER_ZMQ_ACK_PORT": "5803"}


def test_a_roles_own_transfer_wins_and_its_ports_cannot_be_replaced(workers: Workers) -> None:
    (step,) = workers(
        "engine: {type: vllm, set_visible_devices: true}\n"
        "roles:\n"
        "  agg:\n"
        "    nodes: 1\n"
        "    gpus: 2\n"
        "    args: {kv_transfer_config: {kv_connector: Mine}}\n"
        "    env: {VLLM_PORT: 1, A: 2}\n"
    ).values()
    assert words(step) == (
        f'{DYNAMO} --kv-transfer-config {{"kv_connector":"Mine"}} --request-plane tcp'
        " --dump-config-to <LOGS>/agg_0_config.json"
    )
    env = step.command.env
    assert (env["A"], env["VLLM_PORT"], env["CUDA_VISIBLE_DEVICES"]) == ("2", "20000", "0,1")


def test_events_are_switched_on_with_their_port(workers: Workers) -> None:
    (step,) = workers("engine: vllm\nroles: {agg: {nodes: 1, kv_events: true}}\n").values()
    assert words(step).endswith(
        '--kv-events-config {"publisher":"zmq","topic":"kv-events","enable_kv_cache_events":true,'
        '"endpoint":"tcp://*:5550"}'
    )


def test_prefill_and_decode_are_packed_together_where_the_options_say_so(plan: Callable[..., Plan]) -> None:
    roles = "roles: {prefill: {nodes: 1, gpus: 2}, decode: {nodes: 1, workers: 2, gpus: 3}}\n"
    apart = plan("engine: vllm\n" + roles)
    together = plan("engine: {type: vllm, allow_prefill_decode_colocation: true}\n" + roles)
    assert [step.node for step in apart.steps if step.kind == "worker"] == ["n0", "n1", "n1"]
    assert [step.gpus for step in together.steps if step.kind == "worker"] == [(0, 1), (2, 3, 4), (5, 6, 7)]
    assert (apart.topology.total_nodes, together.topology.total_nodes) == (2, 1)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (
            "data-parallel-size: 3",
            "data parallelism 3 x tensor 1 x pipeline 1 makes 3 GPUs, but a worker has 8",
        ),
        ("data-parallel-size: many", "data-parallel-size is a whole number from 1, and this one is 'many'"),
        ("tensor-parallel-size: true", "tensor-parallel-size is a whole number from 1, and this one is True"),
    ],
)
def test_sizes_that_cannot_be(workers: Workers, args: str, sentence: str) -> None:
    with pytest.raises(RecipeError, match=sentence):
        workers(f"engine: vllm\nroles: {{agg: {{nodes: 1, args: {{{args}}}}}}}\n")


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ("connector: moncake", "roles.agg.args.connector: expected nixl, lmcache, lmcache-mp, kvbm, mooncake,"
         " moriio, null or the connector's own JSON object, got 'moncake'"),
        ("kv-transfer-config.kv_role: x", "roles.agg.args.kv-transfer-config.kv_role: write"
         " kv-transfer-config as one mapping: servesweep gives this flag itself"),
    ],
)  # fmt: skip
def test_a_connector_that_is_none_is_refused(workers: Callable[..., object], args: str, fault: str) -> None:
    with pytest.raises(RecipeError) as caught:
        workers(f"engine: vllm\nroles: {{agg: {{nodes: 1, args: {{{args}}}}}}}\n")
    assert str(caught.value) == f"demo.yaml:6: {fault}"
