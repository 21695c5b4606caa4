"""Profilers around workers: the words before the engine, and the variables of the window."""

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan

Planner = Callable[..., Plan]

AGG = "engine: {}\nroles: {{agg: {{nodes: 1, gpus: 2, env: {{PROFILE_TYPE: mine}}}}}}\n"


def window(plan: Plan) -> dict[str, str]:
    env = plan.steps[-2].command.env
    return {name: value for name, value in env.items() if "PROFIL" in name or "NVTX" in name}


def test_nsys_traces_a_window_of_steps(plan: Planner) -> None:
    found = plan(
        AGG.format("sglang") + "profiling:\n"
        "  type: nsys\n"
        "  aggregated: {start_step: 10, stop_step: 30}\n"
        "  extra_nsys_args: --sample none\n"
    )
    worker = found.steps[-2].command
    assert " ".join(worker.argv).partition(" python3")[0] == (
        "nsys profile -t cuda,nvtx --cuda-graph-trace=node -c cudaProfilerApi --capture-range-end stop"
        " --force-overwrite true --trace-fork-before-exec=true --sample none"
        " -o <LOGS>/profiles/agg/agg_0_profile_gpu0-1"
    )
    assert window(found) == {
        "PROFILING_MODE": "agg",
        "PROFILE_TYPE": "nsys",
        "PROFILE_AGG_START_STEP": "10",
        "PROFILE_AGG_STOP_STEP": "30",
        "TLLM_PROFILE_START_STOP": "10-30",
        "TLLM_LLMAPI_ENABLE_NVTX": "1",
    }
    assert worker.env["CUDA_VISIBLE_DEVICES"] == "0,1"


def test_nsys_traces_by_the_clock(plan: Planner) -> None:
    text = AGG.format("trtllm") + "profiling: {type: nsys-time, delay_secs: 60, duration_secs: 2.5}\n"
    assert " ".join(plan(text).steps[-2].command.argv).partition(" trtllm-llmapi")[0] == (
        "nsys profile -t cuda,nvtx --cuda-graph-trace=node --delay 60 --duration 2.5 --force-overwrite true"
        " --trace-fork-before-exec=true -o <LOGS>/profiles/agg/agg_0_profile_gpu0-1_rank%q{SLURM_PROCID}"
    )


def test_vllm_is_told_the_window_itself(plan: Planner) -> None:
    steps = "{type: nsys, aggregated: {start_step: 5, stop_step: 8}}"
    found = plan(AGG.format("vllm") + f"profiling: {steps}\n")
    assert found.steps[-2].command.argv[-2:] == (
        "--profiler-config", '{"profiler":"cuda","delay_iterations":5,"max_iterations":3}',
    )  # fmt: skip


def test_torch_writes_into_a_directory_of_the_role(plan: Planner) -> None:
    steps = "{type: torch, aggregated: {start_step: 5, stop_step: 8}}"
    found = plan(AGG.format("sglang") + f"profiling: {steps}\n")
    assert found.steps[-2].command.argv[0] == "python3"
    assert window(found) == {
        "PROFILING_MODE": "agg",
        "PROFILE_TYPE": "torch",
        "PROFILE_AGG_START_STEP": "5",
        "PROFILE_AGG_STOP_STEP": "8",
        "SGLANG_TORCH_PROFILER_DIR": "<LOGS>/profiles/agg",
    }


@pytest.mark.parametrize("key", ["profiler-config", "profiler_config", "profiler-config.profiler"])
def test_a_window_of_vllms_own_is_refused(complaint: Callable[..., str], key: str) -> None:
    found = complaint(
        f"engine: vllm\nroles: {{agg: {{nodes: 1, args: {{{key}: x}}}}}}\n"
        "profiling: {type: nsys, aggregated: {start_step: 5, stop_step: 8}}\n"
    )
    assert f"roles.agg.args.{key}: profiling sets this argument from its steps: remove it" in found


def test_sidecars_are_not_profiled(complaint: Callable[..., str]) -> None:
    found = complaint(
        AGG.format("sglang") + "dynamo: {sidecar: true}\nprofiling: {type: nsys-time, delay_secs: 1,"
        " duration_secs: 1}\n"
    )
    assert "profiling.type: a profiler would trace the sidecar too: profile without sidecars" in found


def test_services_alone_have_no_workers_to_profile(complaint: Callable[..., str]) -> None:
    text = (
        "frontend: {type: none}\nbenchmark: {type: manual}\n"
        'services: [{name: x, nodes: 1, command: [sleep, "1"], readiness: {port: 80}}]\n'
        "profiling: {type: nsys, aggregated: {start_step: 1, stop_step: 2}}\n"
    )
    assert "profiling.aggregated: this recipe has no such workers: it has no roles" in complaint(text)
