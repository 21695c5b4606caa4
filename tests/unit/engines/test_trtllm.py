"""TensorRT-LLM: one MPI launch a worker, the engine's file, and what its tasks see."""

import subprocess
from collections.abc import Callable

import pytest
import yaml

from servesweep.plan.plan import Plan, Step

Workers = Callable[..., dict[str, Step]]

MPI = {"mpi": "pmix", "oversubscribe": "", "cpu-bind": "verbose,none"}
PD = (
    "engine: trtllm\n"
    "resources: {gpu_type: gb200, gpus_per_node: 4}\n"
    "roles:\n"
    "  prefill: {nodes: 1, workers: 2, gpus: 2, args: {max_batch_size: 8, cuda_graph_config: null}}\n"
    "  decode: {nodes: 2, args: {tensor_parallel_size: 8, moe_config: {backend: TRTLLM}}}\n"
)


def words(step: Step) -> str:
    return " ".join(step.command.argv)


def test_one_launch_a_worker_with_a_task_a_gpu(plan: Callable[..., Plan]) -> None:
    found = plan(PD)
    steps = {step.name: step for step in found.steps if step.kind == "worker"}
    dynamo = (
        "numactl -m 0,1 trtllm-llmapi-launch python3 -m dynamo.trtllm --model-path /models/tiny"
        " --served-model-name tiny --disaggregation-mode {0} --extra-engine-args"
        " <LOGS>/trtllm_config_{0}.yaml --request-plane tcp --publish-metrics"
    )
    assert {name: words(step) for name, step in steps.items()} == {
        "prefill_0": dynamo.format("prefill"),
        "prefill_1": dynamo.format("prefill"),
        "decode_0": dynamo.format("decode"),
    }
    assert [(step.nodes, step.tasks, step.node) for step in steps.values()] == [
        ((), 2, "n0"),
        ((), 2, "n0"),
        (("n1", "n2"), 8, "n1"),
    ]
    assert all(step.srun_options == MPI for step in steps.values())
    # The frontend runs in the same image, whose libraries look for MPI.
    assert found.steps[-1].srun_options == {"mpi": "pmix"}
    assert {node.name: node.holds for node in found.nodes}["n2"] == ("decode_0",)
    assert (found.expected.prefill, found.expected.decode) == (2, 1)


def test_a_roles_arguments_are_the_engines_file(workers: Workers) -> None:
    steps = workers(PD)
    assert steps["prefill_0"].command.files == {
        "<LOGS>/trtllm_config_prefill.yaml": "max_batch_size: 8\ncuda_graph_config: null\n"
    }
    (text,) = steps["decode_0"].command.files.values()
    assert yaml.safe_load(text) == {"tensor_parallel_size": 8, "moe_config": {"backend": "TRTLLM"}}


def test_its_environment_has_a_name_of_its_own_in_shared_memory(workers: Workers) -> None:
    steps = workers(PD)
    env = steps["prefill_1"].command.env
    names = {step.command.env["TRTLLM_EPLB_SHM_NAME"] for step in steps.values()}
    assert len(names) == 3
    assert {name: value for name, value in env.items() if not name.startswith("DYN_LOG")} == {
        "HEAD_NODE_IP": "ip-n0",
        "ETCD_ENDPOINTS": "http://ip-n0:2379",
        "DYN_DISCOVERY_BACKEND": "etcd",
        "DYN_SYSTEM_PORT": "7501",
        "DYN_SKIP_SGLANG_LOG_FORMATTING": "1",
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
        "CUDA_VISIBLE_DEVICES": "2,3",
        "TRTLLM_EPLB_SHM_NAME": env["TRTLLM_EPLB_SHM_NAME"],
    }


@pytest.mark.parametrize(
    ("option", "flag"),
    [
        ("publish_metrics: true", " --publish-metrics"),
        ("publish_metrics: false", ""),
        ("publish_events_and_metrics: true", " --publish-events-and-metrics"),
        ("publish_events_and_metrics: false", " --publish-metrics"),
    ],
)
def test_what_workers_publish(workers: Workers, option: str, flag: str) -> None:
    (step,) = workers(f"engine: {{type: trtllm, {option}}}\nroles: {{agg: {{nodes: 1}}}}\n").values()
    assert words(step) == (
        "trtllm-llmapi-launch python3 -m dynamo.trtllm --model-path /models/tiny --served-model-name tiny"
        f" --extra-engine-args <LOGS>/trtllm_config_agg.yaml --request-plane tcp{flag}"
    )


@pytest.mark.parametrize(
    ("gpu", "option", "mode", "bound"),
    [
        ("gb200", "publish_metrics: true", "agg", False),
        ("GB300", "publish_metrics: true", "prefill", True),
        ("gb200", "numa_memory_bind: false", "prefill", False),
        ("h100", "publish_metrics: true", "prefill", False),
        ("h100", "numa_memory_bind: true", "agg", True),
    ],
)
def test_where_memory_is_bound(workers: Workers, gpu: str, option: str, mode: str, bound: bool) -> None:
    roles = "{agg: {nodes: 1}}" if mode == "agg" else "{prefill: {nodes: 1}, decode: {nodes: 1}}"
    steps = workers(f"engine: {{type: trtllm, {option}}}\nroles: {roles}\nresources: {{gpu_type: {gpu}}}\n")
    assert (steps[f"{mode}_0"].command.argv[:3] == ("numactl", "-m", "0,1")) is bound


def test_its_own_server_alone(plan: Callable[..., Plan]) -> None:
    found = plan(
        "engine: {type: trtllm, served_model_name: llama}\n"
        "roles:\n"
        "  agg:\n"
        "    {nodes: 1, gpus: 4, extra_args: [--tool_parser, qwen3],\n"
        "     args: {tensor_parallel_size: 4, pipeline-parallel-size: 1}}\n"
        "frontend: {type: trtllm_serve}\n"
    )
    (step,) = found.steps
    assert words(step) == (
        "trtllm-llmapi-launch trtllm-serve /models/tiny --host 0.0.0.0 --port 8000 --tensor_parallel_size 4"
        " --pipeline_parallel_size 1 --served_model_name llama --config <LOGS>/trtllm_config_agg.yaml"
        " --tool_parser qwen3"
    )
    assert found.served_model == "llama"
    assert found.public is not None
    assert (found.public.node, found.public.port) == ("n0", 8000)


def test_workers_that_share_a_node_take_exactly_their_gpus(workers: Workers) -> None:
    """Two workers of six GPUs on nodes of four; each lists its full node first."""
    steps = workers(
        "engine: trtllm\nresources: {gpus_per_node: 4}\nroles: {agg: {nodes: 3, workers: 2, gpus: 6}}\n"
    )
    assert [(step.nodes, step.tasks) for step in steps.values()] == [(("n0", "n1"), 6), (("n2", "n1"), 6)]
    assert [seen(steps["agg_0"], rank) for rank in range(6)] == ["0,1,2,3"] * 4 + ["0,1"] * 2
    assert [seen(steps["agg_1"], rank) for rank in range(6)] == ["0,1,2,3"] * 4 + ["2,3"] * 2
    assert steps["agg_1"].srun_options == {**MPI, "distribution": "arbitrary"}
    env = steps["agg_1"].command.env
    assert (env["MASTER_ADDR"], env["MASTER_PORT"]) == ("ip-n2", "8300")
    assert "CUDA_VISIBLE_DEVICES" not in env


def seen(step: Step, rank: int) -> str:
    """What a task of the step sees: the wrapper runs, and `sh` instead of the engine."""
    shown = subprocess.run(
        [*step.command.argv[:4], "sh", "-c", 'echo "$CUDA_VISIBLE_DEVICES"'],
        env={"SLURM_PROCID": str(rank), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout.strip()


def test_workers_of_a_node_start_in_turns(plan: Callable[..., Plan]) -> None:
    found = plan(
        "engine: {type: trtllm, sequential_node_start: 2}\n"
        "roles: {prefill: {nodes: 1, workers: 4, gpus: 2}, decode: {nodes: 1, workers: 2}}\n"
    )
    assert {step.name: step.after for step in found.steps if step.kind == "worker"} == {
        "prefill_0": (),
        "prefill_1": (),
        "prefill_2": ("prefill_0", "prefill_1"),
        "prefill_3": ("prefill_0", "prefill_1"),
        "decode_0": (),
        "decode_1": (),
    }


def test_one_after_the_other(workers: Workers) -> None:
    steps = workers(
        "engine: {type: trtllm, sequential_node_start: 1}\nroles: {agg: {nodes: 1, workers: 3, gpus: 2}}\n"
    )
    assert [step.after for step in steps.values()] == [(), ("agg_0",), ("agg_1",)]


@pytest.mark.parametrize(
    ("option", "flag"),
    [
        ("publish_metrics: true", "--publish-events-and-metrics"),
        ("publish_events_and_metrics: false", "--publish-metrics"),
    ],
)
def test_the_preset_of_observability_asks_for_statistics(workers: Workers, option: str, flag: str) -> None:
    (step,) = workers(
        f"engine: {{type: trtllm, {option}}}\n"
        "roles: {agg: {nodes: 1, args: {max_batch_size: 8, return_perf_metrics: false}}}\n"
        "observability: {enabled: true}\n"
    ).values()
    assert step.command.files == {
        "<LOGS>/trtllm_config_agg.yaml": (
            "max_batch_size: 8\nreturn_perf_metrics: false\nenable_iter_perf_stats: true\n"
        )
    }
    assert step.command.argv[-1] == flag
