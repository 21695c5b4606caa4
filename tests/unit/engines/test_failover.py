"""vLLM engines that stand by on a worker's GPUs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan, Step
from servesweep.plan.plan_object import plan_object
from servesweep.recipe.problems import RecipeError

Workers = Callable[..., dict[str, Step]]

DYNAMO = (
    "python3 -m dynamo.vllm --model /models/tiny --served-model-name tiny --kv-transfer-config"
    ' {"kv_connector":"NixlConnector","kv_role":"kv_both"}'
)
TWO = (
    "engine: {type: vllm, failover: {shared_dir: /shm}}\n"
    "roles: {agg: {nodes: 1, workers: 2, gpus: 2, kv_events: true, args: {load-format: gms}}}\n"
)


def told(step: Step) -> dict[str, str]:
    """The variables by which engines on the same GPUs agree, and their ports."""
    names = ("ENGINE", "GMS", "FAILOVER", "SHADOW", "STARTING", "CUDA", "VLLM_", "SYSTEM_PORT")
    return {name: value for name, value in step.command.env.items() if any(n in name for n in names)}


def test_each_worker_has_a_twin_with_ports_of_its_own(workers: Workers) -> None:
    steps = workers(TWO)
    assert [(step.name, step.node, step.gpus, step.engine, step.log) for step in steps.values()] == [
        ("agg_0", "n0", (0, 1), 0, "{host}_agg_w0.out"),
        ("agg_0_e1", "n0", (0, 1), 1, "{host}_agg_w0_e1.out"),
        ("agg_1", "n0", (2, 3), 0, "{host}_agg_w1.out"),
        ("agg_1_e1", "n0", (2, 3), 1, "{host}_agg_w1_e1.out"),
    ]
    events = (
        '--kv-events-config {"publisher":"zmq","topic":"kv-events","enable_kv_cache_events":true,'
        '"endpoint":"tcp://*:%d"}'
    )
    assert {name: " ".join(steps[name].command.argv) for name in ("agg_1", "agg_1_e1")} == {
        name: (
            f"{DYNAMO} --load-format gms --gms-shadow-mode --request-plane tcp"
            f" --dump-config-to <LOGS>/{name}_config.json {events % port}"
        )
        for name, port in (("agg_1", 5551), ("agg_1_e1", 5553))
    }
    shared = {
        "GMS_SOCKET_DIR": "/shm/<SCRATCH>/agg_1",
        "FAILOVER_LOCK_PATH": "/shm/<SCRATCH>/agg_1/failover.lock",
        "DYN_VLLM_GMS_SHADOW_MODE": "true",
        "DYN_SYSTEM_STARTING_HEALTH_STATUS": "notready",
        "CUDA_VISIBLE_DEVICES": "2,3",
        "VLLM_NIXL_SIDE_CHANNEL_HOST": "ip-n0",
    }
    assert told(steps["agg_1"]) == shared | {
        "ENGINE_ID": "0",
        "DYN_SYSTEM_PORT": "7501",
        "DYN_VLLM_KV_EVENT_PORT": "5551",
        "VLLM_NIXL_SIDE_CHANNEL_PORT": "5401",
        "VLLM_PORT": "20050",
    }
    assert told(steps["agg_1_e1"]) == shared | {
        "ENGINE_ID": "1",
        "DYN_SYSTEM_PORT": "7503",
        "DYN_VLLM_KV_EVENT_PORT": "5553",
        "VLLM_NIXL_SIDE_CHANNEL_PORT": "5403",
        "VLLM_PORT": "20150",
    }
    assert steps["agg_1_e1"].probe is not None
    assert steps["agg_1_e1"].probe.port == 7503


def test_twins_are_neither_workers_nor_gpus(plan: Callable[..., Plan]) -> None:
    found = plan(TWO)
    assert (found.topology.total_gpus, found.topology.num_agg, found.expected.decode) == (4, 2, 2)


def test_the_plan_as_json_lists_them_beside_their_twins(plan: Callable[..., Plan]) -> None:
    processes = [one for worker in plan_object(plan(TWO))["workers"] for one in worker["processes"]]
    assert [(one["rank"], one["engine"], one["ports"]["system"]) for one in processes] == [
        (0, 0, 7500), (0, 1, 7502), (0, 0, 7501), (0, 1, 7503),
    ]  # fmt: skip


def test_over_nodes_each_engine_meets_its_ranks_at_a_port_of_its_own(workers: Workers) -> None:
    steps = workers(
        "engine: {type: vllm, connector: null, failover: {shadow_engines: 2}}\n"
        "roles: {agg: {nodes: 2, args: {tensor-parallel-size: 16}}}\n"
    )
    start = (
        "python3 -m dynamo.vllm --model /models/tiny --served-model-name tiny --master-addr ip-n0 --nnodes 2"
    )
    rest = "--request-plane tcp --dump-config-to <LOGS>/{}_config.json --tensor-parallel-size 16"
    gms = "--load-format gms --gms-shadow-mode --master-port"
    assert {name: " ".join(step.command.argv) for name, step in steps.items()} == {
        "agg_0": f"{start} --node-rank 0 {gms} 29500 {rest.format('agg_0')}",
        "agg_0_e1": f"{start} --node-rank 0 {gms} 29600 {rest.format('agg_0_e1')}",
        "agg_0_e2": f"{start} --node-rank 0 {gms} 29700 {rest.format('agg_0_e2')}",
        "agg_0_r1": f"{start} --node-rank 1 --headless {gms} 29500 {rest.format('agg_0_r1')}",
        "agg_0_r1_e1": f"{start} --node-rank 1 --headless {gms} 29600 {rest.format('agg_0_r1_e1')}",
        "agg_0_r1_e2": f"{start} --node-rank 1 --headless {gms} 29700 {rest.format('agg_0_r1_e2')}",
    }


@pytest.mark.parametrize(
    ("args", "more", "fault"),
    [
        ("load-format: auto", "",
         "roles.agg.args.load-format: engine.failover loads weights from Dynamo's memory service alone"),
        ("gms_shadow_mode: true", "",
         "roles.agg.args.gms_shadow_mode: engine.failover says this of every engine already: remove it"),
        ("data-parallel-size: 8", "",
         "roles.agg.args.data-parallel-size: engine.failover keeps engines for workers of one"),
        ("x: 1", "frontend: {type: vllm}\n",
         "engine.failover: engines that stand by register with Dynamo alone, and the frontend is vllm"),
        ("x: 1", "dynamo: {sidecar: true}\n",
         "engine.failover: a worker beside a sidecar has no engines that stand by: keep one"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(workers: Workers, args: str, more: str, fault: str) -> None:
    with pytest.raises(RecipeError) as caught:
        workers(
            f"engine: {{type: vllm, failover: {{}}}}\nroles: {{agg: {{nodes: 1, args: {{{args}}}}}}}\n{more}"
        )
    assert fault in str(caught.value)


@pytest.mark.parametrize("port", ["abc", "[1, 2]", "true", "65500", "-5"])
def test_a_port_of_the_ranks_leaves_room_for_those_that_stand_by(
    plan: Callable[..., Plan], port: str
) -> None:
    text = (
        "engine: {type: vllm, failover: {shared_dir: /shm, shadow_engines: 2}}\n"
        f"roles: {{agg: {{nodes: 2, workers: 1, args: {{tensor-parallel-size: 16, master-port: {port}}}}}}}\n"
    )
    with pytest.raises(RecipeError, match=r"roles.agg.args.master-port: expected a port from 1 to \d+, got"):
        plan(text)
