"""SGLang's command lines beside those of tests/unit/plan/test_steps.py."""

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan, Step
from servesweep.topology.deployment import Probe

Workers = Callable[..., dict[str, Step]]

AGG = "engine: sglang\nroles: {agg: {nodes: 1, gpus: 4, workers: 2}}\n"
WORDS = "python3 -m dynamo.sglang --model-path /models/tiny --served-model-name tiny --host 0.0.0.0"


def words(step: Step) -> str:
    return " ".join(step.command.argv)


def test_kv_events_are_published_by_leaders_on_ports_of_their_own(workers: Workers) -> None:
    steps = workers(
        "engine: sglang\n"
        "roles:\n"
        "  prefill: {nodes: 2, kv_events: true}\n"
        "  decode: {nodes: 1, workers: 2, kv_events: {topic: mine}}\n"
    )
    told = {name: words(step).partition("--kv-events-config ")[2] for name, step in steps.items()}
    assert told == {
        "prefill_0": '{"publisher":"zmq","topic":"kv-events","endpoint":"tcp://*:5550"}',
        "prefill_0_r1": "",
        "decode_0": '{"publisher":"zmq","topic":"mine","endpoint":"tcp://*:5551"}',
        "decode_1": '{"publisher":"zmq","topic":"mine","endpoint":"tcp://*:5552"}',
    }


def test_the_request_plane_is_the_recipes(workers: Workers) -> None:
    steps = workers(AGG + "dynamo: {request_plane: nats, event_plane: zmq}\n")
    assert words(steps["agg_0"]) == (
        f"{WORDS} --port 6100 --nccl-port 17500 --dump-config-to <LOGS>/agg_0_config.json"
        " --request-plane nats"
    )
    assert steps["agg_1"].command.env == {
        "HEAD_NODE_IP": "ip-n0",
        "ETCD_ENDPOINTS": "http://ip-n0:2379",
        "DYN_DISCOVERY_BACKEND": "etcd",
        "NATS_SERVER": "nats://ip-n0:4222",
        "DYN_SYSTEM_PORT": "7501",
        "DYN_REQUEST_PLANE": "nats",
        "DYN_EVENT_PLANE": "zmq",
        "DYN_SKIP_SGLANG_LOG_FORMATTING": "1",
        "DYN_LOG": "info,dynamo_runtime::pipeline::network::ingress::push_handler=warn",
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
        "CUDA_VISIBLE_DEVICES": "4,5,6,7",
    }


def test_the_resolved_configuration_is_not_written_where_the_recipe_says_so(workers: Workers) -> None:
    steps = workers(AGG + "enable_config_dump: false\n")
    assert words(steps["agg_0"]) == f"{WORDS} --port 6100 --nccl-port 17500 --request-plane tcp"


def test_in_containers_model_and_logs_are_where_they_are_mounted(workers: Workers) -> None:
    (step,) = workers(
        "engine: sglang\nroles: {agg: {nodes: 1, container: image}}\n",
        container_runtime="pyxis",
        containers={"image": "/images/sglang.sqsh"},
    ).values()
    assert words(step) == (
        "python3 -m dynamo.sglang --model-path /model --served-model-name tiny --host 0.0.0.0"
        " --port 6100 --nccl-port 17500 --dump-config-to /logs/agg_0_config.json --request-plane tcp"
    )
    assert step.image == "/images/sglang.sqsh"


def test_grpc_workers_are_named_and_asked_by_grpc(plan: Callable[..., Plan]) -> None:
    found = plan(
        "engine: sglang\n"
        "roles: {prefill: {nodes: 1, args: {grpc_mode: true}}, decode: {nodes: 1, args: {grpc-mode: true}}}\n"
        "frontend: {type: sglang-router}\n"
    )
    router = found.steps[-1]
    assert words(router) == (
        "python3 -m sglang_router.launch_router --pd-disaggregation --prefill grpc://ip-n0:6100 7200"
        " --decode grpc://ip-n1:6100 --host 0.0.0.0 --port 8000 --disable-retries"
    )
    assert found.steps[0].probe == Probe(kind="tcp", port=6100)


@pytest.mark.parametrize("frontend", ["sglang", "direct"])
def test_one_worker_alone(plan: Callable[..., Plan], frontend: str) -> None:
    found = plan(f"engine: sglang\nroles: {{agg: {{nodes: 2}}}}\nfrontend: {{type: {frontend}}}\n")
    port = {"sglang": 8000, "direct": 6100}[frontend]
    assert [step.name for step in found.steps] == ["agg_0", "agg_0_r1"]
    assert words(found.steps[0]) == (
        "python3 -m sglang.launch_server --model-path /models/tiny --served-model-name tiny"
        f" --host 0.0.0.0 --port {port} --nccl-port 17500"
        " --dist-init-addr ip-n0:8300 --nnodes 2 --node-rank 0"
    )
    assert found.public is not None
    assert (found.public.node, found.public.port) == ("n0", port)
