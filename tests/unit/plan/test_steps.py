"""What is started where, by which words, for each kind of deployment; a person can check every line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from servesweep.plan.plan import Plan, Step

Planner = Callable[..., Plan]

RECIPES = Path(__file__).resolve().parents[3] / "config" / "recipes"

ALL = (0, 1, 2, 3, 4, 5, 6, 7)
HEAD = {"HEAD_NODE_IP": "ip-n0"}
DYNAMO = {
    "ETCD_ENDPOINTS": "http://ip-n0:2379",
    "DYN_DISCOVERY_BACKEND": "etcd",
    "DYN_REQUEST_PLANE": "tcp",
    "DYN_SKIP_SGLANG_LOG_FORMATTING": "1",
}


def worker_env(port: int) -> dict[str, str]:
    """Environment of a worker under Dynamo."""
    return {
        **HEAD,
        **DYNAMO,
        "DYN_LOG": "info,dynamo_runtime::pipeline::network::ingress::push_handler=warn",
        "DYN_SYSTEM_PORT": str(port),
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
    }


def command(step: Step) -> str:
    return " ".join(step.command.argv)


def commands(plan: Plan) -> dict[str, str]:
    return {step.name: command(step) for step in plan.steps}


def places(plan: Plan) -> list[tuple[str, str, tuple[int, ...], str]]:
    return [(step.name, step.node, step.gpus, step.log) for step in plan.steps]


def feature(name: str) -> str:
    return (RECIPES / "features" / name).read_text()


def test_dynamo_disaggregated_over_three_nodes(plan: Planner) -> None:
    found = plan(feature("dynamo-disagg.yaml"), head="")
    assert places(found) == [
        ("etcd", "n0", (), "service_etcd.out"),
        ("prefill_0", "n0", (0, 1, 2, 3), "{host}_prefill_w0.out"),
        ("prefill_1", "n0", (4, 5, 6, 7), "{host}_prefill_w1.out"),
        ("decode_0", "n1", ALL, "{host}_decode_w0.out"),
        ("decode_1", "n2", ALL, "{host}_decode_w1.out"),
        ("frontend_0", "n0", (), "{host}_frontend_0.out"),
    ]
    mocker = (
        "python3 -m dynamo.mocker --model-path /models/tiny --model-name tiny --disaggregation-mode {}"
        " --data-parallel-size 1 --engine-type vllm --max-num-batched-tokens 8192 --max-num-seqs 256"
        " --num-gpu-blocks-override 16384 --speedup-ratio 10.0"
    )
    assert commands(found) == {
        "etcd": (
            "etcd --name servesweep --data-dir <SCRATCH>/etcd"
            " --listen-client-urls http://0.0.0.0:2379 --advertise-client-urls http://ip-n0:2379"
            " --listen-peer-urls http://ip-n0:2380 --initial-advertise-peer-urls http://ip-n0:2380"
            " --initial-cluster servesweep=http://ip-n0:2380"
        ),
        "prefill_0": mocker.format("prefill --bootstrap-ports 7200"),
        "prefill_1": mocker.format("prefill --bootstrap-ports 7201"),
        "decode_0": mocker.format("decode"),
        "decode_1": mocker.format("decode"),
        "frontend_0": "python3 -m dynamo.frontend --http-port=8000 --router-mode round-robin",
    }
    assert {step.name: step.command.env for step in found.steps} == {
        "etcd": {},
        "prefill_0": {**worker_env(7500), "CUDA_VISIBLE_DEVICES": "0,1,2,3"},
        "prefill_1": {**worker_env(7501), "CUDA_VISIBLE_DEVICES": "4,5,6,7"},
        "decode_0": worker_env(7502),
        "decode_1": worker_env(7503),
        "frontend_0": DYNAMO,
    }
    assert [step.probe and (step.probe.port, step.probe.path) for step in found.steps] == [
        (2379, "/health"), (7500, "/health"), (7501, "/health"), (7502, "/health"), (7503, "/health"),
        (8000, "/health"),
    ]  # fmt: skip
    assert found.public is not None
    assert (found.public.node, found.public.port, found.client) == ("n0", 8000, "n0")
    assert (found.expected.prefill, found.expected.decode) == (2, 2)


def test_sglang_router_over_prefill_and_decode(plan: Planner) -> None:
    found = plan(feature("sglang-router-disagg.yaml"), head="")
    simulator = "python3 -m servesweep.simulator --model-path /models/tiny --host 0.0.0.0 --port"
    times = "--itl-ms 5 --ttft-ms 40"
    assert commands(found) == {
        "prefill_0": f"{simulator} 6100 --model-name tiny --mode prefill --bootstrap-port 7200 {times}",
        "decode_0": f"{simulator} 6100 --model-name tiny --mode decode {times}",
        "decode_1": f"{simulator} 6132 --model-name tiny --mode decode {times}",
        "frontend_0": (
            "python3 -m sglang_router.launch_router --pd-disaggregation --prefill http://ip-n0:6100 7200"
            " --decode http://ip-n1:6100 --decode http://ip-n1:6132 --host 0.0.0.0 --port 8000"
            " --disable-retries --policy round_robin"
        ),
    }  # fmt: skip
    assert places(found)[1:3] == [
        ("decode_0", "n1", (0, 1, 2, 3), "{host}_decode_w0.out"),
        ("decode_1", "n1", (4, 5, 6, 7), "{host}_decode_w1.out"),
    ]


def test_vllm_router_over_two_workers_of_one_node(plan: Planner) -> None:
    found = plan(feature("vllm-router-agg.yaml"), head="")
    assert commands(found)["frontend_0"] == (
        "python3 -m vllm_router.launch_router --worker-urls http://ip-n0:6100 http://ip-n0:6132"
        " --host 0.0.0.0 --port 8000 --disable-retries --policy round_robin"
    )
    assert [step.command.env for step in found.steps] == [
        {**HEAD, "CUDA_VISIBLE_DEVICES": "0,1,2,3"},
        {**HEAD, "CUDA_VISIBLE_DEVICES": "4,5,6,7"},
        {},
    ]


def test_two_replicas_behind_a_router(plan: Planner) -> None:
    found = plan(feature("replicas.yaml"), head="")
    name = f"tiny-{found.digest[:8]}"
    replica = (
        "python3 -m servesweep.simulator --model-path /models/tiny --host 0.0.0.0 --port 8080"
        f" --ttft-ms 30 --itl-ms 5 --served-model-name {name}"
    )
    assert commands(found) == {
        "agg_0": replica,
        "agg_1": replica,
        "frontend_0": (
            "python3 -m sglang_router.launch_router --worker-urls http://ip-n0:8080 http://ip-n1:8080"
            " --host 0.0.0.0 --port 30000 --disable-retries"
        ),
    }
    assert found.served_model == name
    assert found.public is not None
    assert (found.public.node, found.public.port) == ("n0", 30000)
    assert found.notes == ()


def test_a_router_over_one_replica_is_left_out_and_said(plan: Planner) -> None:
    found = plan("engine: simulator\nreplicas: 1\nrouter: sglang\nframework_args: --served-model-name me\n")
    assert list(commands(found)) == ["agg_0"]
    assert (found.frontend, found.served_model) == ("direct", "me")
    assert found.public is not None
    assert (found.public.node, found.public.port) == ("n0", 8080)
    assert found.notes == (
        "router: sglang is left out: one replica has nothing to balance, and is served directly",
    )


def test_sglang_replicas_of_two_nodes(plan: Planner) -> None:
    found = plan(
        "engine: sglang\nreplicas: 2\nnodes_per_replica: 2\nrouter: sglang\n"
        "framework_args: --model-path /m --tp 16 --served-model-name=llama --env 'A B'\n"
    )
    words = "python3 -m sglang.launch_server --port 8080 --dist-init-addr {} --nnodes 2 --node-rank {}"
    own = " --model-path /m --tp 16 --served-model-name=llama --env A B --host 0.0.0.0"
    assert commands(found) == {
        "agg_0": words.format("ip-n0:8300", 0) + own,
        "agg_0_r1": words.format("ip-n0:8300", 1) + own,
        "agg_1": words.format("ip-n2:8300", 0) + own,
        "agg_1_r1": words.format("ip-n2:8300", 1) + own,
        "frontend_0": (
            "python3 -m sglang_router.launch_router --worker-urls http://ip-n0:8080 http://ip-n2:8080"
            " --host 0.0.0.0 --port 30000 --disable-retries"
        ),
    }
    assert "A B" in found.steps[0].command.argv
    assert found.served_model == "llama"
    assert [step.probe is not None for step in found.steps] == [True, False, True, False, True]


def test_vllm_replicas_of_two_nodes_by_its_own_start(plan: Planner) -> None:
    found = plan(
        "engine: {type: vllm, distributed: native}\nreplicas: 2\nnodes_per_replica: 2\n"
        "framework_args: --model /m --tensor-parallel-size 16\n"
    )
    own = f"--model /m --tensor-parallel-size 16 --served-model-name tiny-{found.digest[:8]}"
    leader = "vllm serve --port 8080 --master-addr {} --nnodes 2 --node-rank 0 "
    follower = "vllm serve --master-addr {} --nnodes 2 --node-rank 1 --headless "
    assert commands(found) == {
        "agg_0": leader.format("ip-n0") + own,
        "agg_0_r1": follower.format("ip-n0") + own,
        "agg_1": leader.format("ip-n2") + own,
        "agg_1_r1": follower.format("ip-n2") + own,
    }
    assert (found.frontend, found.public) == ("none", None)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("engine: sglang\nreplicas: 1\nframework_args: --tp 8\n",
         "python3 -m sglang.launch_server --port 8080 --tp 8 --model-path /models/tiny --served-model-name {}"
         " --host 0.0.0.0"),
        ("engine: sglang\nreplicas: 1\nframework_args: '--model=/m --host=::'\n",
         "python3 -m sglang.launch_server --port 8080 --model=/m --host=:: --served-model-name {}"),
        ("engine: vllm\nreplicas: 1\nframework_args: -tp 8\n",
         "vllm serve /models/tiny --port 8080 -tp 8 --served-model-name {}"),
        ("engine: vllm\nreplicas: 1\nframework_args: org/model -tp 8\n",
         "vllm serve org/model --port 8080 -tp 8 --served-model-name {}"),
        ("engine: vllm\nreplicas: 1\n", "vllm serve /models/tiny --port 8080 --served-model-name {}"),
    ],
)  # fmt: skip
def test_a_replica_serves_the_recipes_model_unless_its_arguments_name_one(
    plan: Planner, body: str, expected: str
) -> None:
    found = plan(body)
    assert commands(found) == {"agg_0": expected.format(f"tiny-{found.digest[:8]}")}


def test_a_replica_of_a_users_own_command_gets_nothing_added(plan: Planner) -> None:
    found = plan("engine: {type: command, argv: [serve, '{port}']}\nreplicas: 1\nframework_args: --depth 3\n")
    assert commands(found) == {"agg_0": "serve 8080 --depth 3"}


MULTI_NODE = (
    "engine: sglang\n"
    "roles:\n"
    "  prefill: {nodes: 1}\n"
    "  decode: {nodes: 2, args: {tp-size: 16, enable_dp_attention: true, off: false, gone: null}}\n"
)


def test_sglang_over_nodes_under_dynamo(plan: Planner) -> None:
    found = plan(MULTI_NODE)
    words = (
        "python3 -m dynamo.sglang --model-path /models/tiny --served-model-name tiny --host 0.0.0.0 --port"
    )
    decode = "--disaggregation-mode decode --dist-init-addr ip-n1:8300 --nnodes 2 --node-rank"
    rest = "--request-plane tcp --enable-dp-attention --tp-size 16"
    assert commands(found) == {
        "etcd": commands(found)["etcd"],
        "prefill_0": (
            f"{words} 6100 --nccl-port 17500 --disaggregation-mode prefill"
            " --disaggregation-bootstrap-port 7200 --dump-config-to <LOGS>/prefill_0_config.json"
            " --request-plane tcp"
        ),
        "decode_0": (
            f"{words} 6100 --nccl-port 17501 {decode} 0 --dump-config-to <LOGS>/decode_0_config.json {rest}"
        ),
        "decode_0_r1": (
            f"{words} 0 --nccl-port 17502 {decode} 1 --dump-config-to <LOGS>/decode_0_r1_config.json {rest}"
        ),
        "frontend_0": "python3 -m dynamo.frontend --http-port=8000",
    }
    by_name = {step.name: step for step in found.steps}
    assert by_name["decode_0_r1"].command.env == worker_env(7502)
    # Only the leader registers an endpoint: its followers never become ready, and are not asked.
    assert by_name["decode_0"].probe is not None
    assert by_name["decode_0_r1"].probe is None
    assert (by_name["decode_0_r1"].node, by_name["decode_0_r1"].rank) == ("n2", 1)
    assert (found.expected.prefill, found.expected.decode) == (1, 1)


def test_sglang_over_nodes_behind_its_router(plan: Planner) -> None:
    found = plan(MULTI_NODE + "frontend: {type: sglang-router}\n")
    words = (
        "python3 -m sglang.launch_server --model-path /models/tiny --served-model-name tiny --host 0.0.0.0"
    )
    assert commands(found) == {
        "prefill_0": (
            f"{words} --port 6100 --nccl-port 17500 --disaggregation-mode prefill"
            " --disaggregation-bootstrap-port 7200"
        ),
        "decode_0": (
            f"{words} --port 6100 --nccl-port 17501 --disaggregation-mode decode"
            " --dist-init-addr ip-n1:8300 --nnodes 2 --node-rank 0 --enable-dp-attention --tp-size 16"
        ),
        "decode_0_r1": (
            f"{words} --port 0 --nccl-port 17502 --disaggregation-mode decode"
            " --dist-init-addr ip-n1:8300 --nnodes 2 --node-rank 1 --enable-dp-attention --tp-size 16"
        ),
        "frontend_0": (
            "python3 -m sglang_router.launch_router --pd-disaggregation --prefill http://ip-n0:6100 7200"
            " --decode http://ip-n1:6100 --host 0.0.0.0 --port 8000 --disable-retries"
        ),
    }
    assert [step.command.env for step in found.steps] == [HEAD, HEAD, HEAD, {}]


VLLM = "vllm serve /models/tiny --host 0.0.0.0 --port {} --served-model-name tiny"
NIXL = '--kv-transfer-config {"kv_connector":"NixlConnector","kv_role":"kv_both"}'


def test_vllm_prefill_and_decode_of_one_node_behind_its_router(plan: Planner) -> None:
    found = plan(
        "engine: vllm\n"
        "roles: {prefill: {nodes: 1, workers: 2, gpus: 2}, decode: {nodes: colocate, gpus: 4}}\n"
        "frontend: {type: vllm-router}\n"
    )
    assert commands(found) == {
        "prefill_0": f"{VLLM.format(6100)} {NIXL} --device-ids 0,1",
        "prefill_1": f"{VLLM.format(6132)} {NIXL} --device-ids 2,3",
        "decode_0": f"{VLLM.format(6164)} {NIXL} --device-ids 4,5,6,7",
        "frontend_0": (
            "python3 -m vllm_router.launch_router --vllm-pd-disaggregation --prefill http://ip-n0:6100 5400"
            " --prefill http://ip-n0:6132 5401 --decode http://ip-n0:6164 --host 0.0.0.0 --port 8000"
            " --disable-retries"
        ),
    }
    # vLLM is told its devices by a flag, so no variable hides the others from it.
    assert [step.command.env for step in found.steps[:3]] == [
        {
            **HEAD,
            "VLLM_NIXL_SIDE_CHANNEL_HOST": "ip-n0",
            "VLLM_NIXL_SIDE_CHANNEL_PORT": str(5400 + number),
            "VLLM_PORT": str(20000 + 50 * number),
        }
        for number in range(3)
    ]


def test_vllm_over_nodes_under_dynamo(plan: Planner) -> None:
    found = plan(
        "engine: {type: vllm, connector: null}\n"
        "roles: {prefill: {nodes: 1}, decode: {nodes: 2, args: {model: other, max-model-len: 9}}}\n"
    )
    ids = "--device-ids 0,1,2,3,4,5,6,7"
    words = "python3 -m dynamo.vllm --model /models/tiny --served-model-name tiny --disaggregation-mode"
    assert {name: text for name, text in commands(found).items() if "decode" in name} == {
        "decode_0": (
            f"{words} decode {ids} --master-addr ip-n1 --nnodes 2 --node-rank 0 --request-plane tcp"
            " --dump-config-to <LOGS>/decode_0_config.json --max-model-len 9"
        ),
        "decode_0_r1": (
            f"{words} decode {ids} --master-addr ip-n1 --nnodes 2 --node-rank 1 --headless"
            " --request-plane tcp --dump-config-to <LOGS>/decode_0_r1_config.json --max-model-len 9"
        ),
    }


def test_a_users_own_command_served_directly(plan: Planner) -> None:
    found = plan(
        "engine:\n"
        "  type: command\n"
        "  argv: [serve, '{model}', '--listen={host}:{port}', --as, '{name}', '{mode}', '{gpus}']\n"
        "  health: /ready\n"
        "roles: {agg: {nodes: 1, gpus: 2, args: {depth: 3}}}\n"
        "frontend: {type: direct}\n"
    )
    assert commands(found) == {
        "agg_0": "serve /models/tiny --listen=0.0.0.0:6100 --as tiny agg 0,1 --depth 3"
    }
    (step,) = found.steps
    assert step.probe is not None
    assert (step.probe.port, step.probe.path) == (6100, "/ready")
    assert found.public is not None
    assert (found.public.node, found.public.port) == ("n0", 6100)


def test_environment_of_the_recipe_wins_over_the_roles_and_the_clusters(plan: Planner) -> None:
    found = plan(
        "engine: sglang\n"
        "roles: {agg: {nodes: 1, env: {A: role, B: role, DYN_SYSTEM_PORT: 1}}}\n"
        "environment: {A: recipe}\n"
        "frontend: {env: {D: frontend, A: frontend}}\n",
        environment={"A": "site", "B": "site", "C": "site"},
    )
    worker, frontend = found.steps[1].command.env, found.steps[2].command.env
    assert (worker["A"], worker["B"], worker["C"]) == ("recipe", "role", "site")
    assert worker["DYN_SYSTEM_PORT"] == "1"
    assert (frontend["A"], frontend["C"], frontend["D"]) == ("frontend", "site", "frontend")


def test_srun_options_of_a_role_are_laid_over_the_recipes_and_the_clusters(plan: Planner) -> None:
    found = plan(
        "engine: sglang\n"
        "roles: {agg: {nodes: 1, srun_options: {mpi: none}}}\n"
        "srun_options: {mpi: pmix, mem: 0}\n",
        srun_options={"mpi": "pmi2", "overcommit": ""},
    )
    assert [step.srun_options for step in found.steps] == [
        {"mpi": "pmix", "overcommit": "", "mem": "0"},
        {"mpi": "none", "overcommit": "", "mem": "0"},
        {"mpi": "pmix", "overcommit": "", "mem": "0"},
    ]


def test_a_role_that_is_not_critical_says_so_on_its_processes(plan: Planner) -> None:
    found = plan("engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: 2, critical: false}}\n")
    assert {step.name: step.critical for step in found.steps} == {
        "etcd": True, "prefill_0": True, "decode_0": False, "decode_0_r1": False, "frontend_0": True,
    }  # fmt: skip


def test_the_variable_of_visible_devices_is_the_sites(plan: Planner) -> None:
    found = plan(
        "engine: simulator\nroles: {agg: {nodes: 1, gpus: 2}}\nfrontend: {type: direct}\n",
        visible_devices_env="ROCR_VISIBLE_DEVICES",
    )
    assert found.steps[0].command.env == {**HEAD, "ROCR_VISIBLE_DEVICES": "0,1"}


def test_the_served_name_is_the_recipes_else_an_arguments_else_the_directorys(plan: Planner) -> None:
    body = "engine: sglang\nroles: {agg: {nodes: 1, args: {served_model_name: llama}}}\n"
    named = "schema: 2\nname: demo\nmodel: {path: tiny, precision: fp8, served_name: mine}\n"
    assert plan(body, head=named).served_model == "mine"
    assert plan(body).served_model == "llama"
    assert plan("engine: sglang\nroles: {agg: {nodes: 1}}\n").served_model == "tiny"
    hub = "schema: 2\nname: demo\nmodel: {path: 'hf:org/Model-8B', precision: fp8}\n"
    assert plan("engine: sglang\nroles: {agg: {nodes: 1}}\n", head=hub).served_model == "Model-8B"


def test_dedicated_nodes_stand_beside_the_workers(plan: Planner) -> None:
    found = plan(
        "engine: sglang\n"
        "roles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"
        "frontend: {placement: {node: dedicated}}\n"
        "benchmark: {placement: {node: dedicated}}\n"
    )
    assert {node.name: node.holds for node in found.nodes} == {
        "n0": ("frontend_0",),
        "n1": ("head", "etcd", "prefill_0"),
        "n2": ("decode_0",),
        "n3": ("client",),
    }
    assert (found.slurm.nodes, found.topology.total_nodes, found.topology.total_gpus) == (4, 4, 16)
