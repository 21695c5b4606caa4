"""Profilers around worker processes, and the variables by which engines and clients agree on the steps.

Names and files as in srt-slurm; source of nsys' flags: `nsys profile --help`, 2025.
"""

from __future__ import annotations

from dataclasses import replace

from servesweep.engines.engine import Engine
from servesweep.recipe.profiling import ProfiledSteps, ProfilingSection
from servesweep.topology.deployment import Command, Deployment, step_name
from servesweep.topology.shapes import ProcessPlace

TRACE = ("nsys", "profile", "-t", "cuda,nvtx", "--cuda-graph-trace=node")
BY_STEPS = ("-c", "cudaProfilerApi", "--capture-range-end", "stop")


def profiled(
    command: Command,
    profiling: ProfilingSection,
    engine: Engine,
    process: ProcessPlace,
    deployment: Deployment,
) -> Command:
    """The command of a process under the recipe's profiler."""
    directory = f"{deployment.logs}/profiles/{process.mode}"
    steps = steps_of(profiling, process.mode)
    env = {"PROFILING_MODE": process.mode, "PROFILE_TYPE": profiling.type, **_window(process.mode, steps)}
    if profiling.type == "torch":
        env["SGLANG_TORCH_PROFILER_DIR"] = directory
        return replace(command, env={**command.env, **env})
    if steps is not None:
        env["TLLM_PROFILE_START_STOP"] = f"{steps.start_step}-{steps.stop_step}"
    env["TLLM_LLMAPI_ENABLE_NVTX"] = "1"
    words = [*TRACE, *_when(profiling), "--force-overwrite", "true"]
    # Dynamo's workers fork the engine without an exec, which nsys does not follow by itself.
    words += ["--trace-fork-before-exec=true"] if deployment.transport == "dynamo" else []
    words += profiling.extra_nsys_args
    gpus = "-".join(map(str, process.gpus))
    # One launch starts all ranks of such an engine, and each rank writes a file.
    rank = "_rank%q{SLURM_PROCID}" if engine.one_step else ""
    words += ["-o", f"{directory}/{step_name(process)}_profile_gpu{gpus}{rank}"]
    own = engine.profiler_flags(steps.start_step, steps.stop_step) if steps is not None else ()
    return replace(command, argv=(*words, *command.argv, *own), env={**command.env, **env})


def steps_of(profiling: ProfilingSection, mode: str) -> ProfiledSteps | None:
    """The steps that are traced in workers of a role."""
    by_mode = {"prefill": profiling.prefill, "decode": profiling.decode, "agg": profiling.aggregated}
    return by_mode[mode]


def _window(mode: str, steps: ProfiledSteps | None) -> dict[str, str]:
    if steps is None:
        return {}
    name = f"PROFILE_{mode.upper()}"
    return {f"{name}_START_STEP": str(steps.start_step), f"{name}_STOP_STEP": str(steps.stop_step)}


def _when(profiling: ProfilingSection) -> tuple[str, ...]:
    """By the engine's own steps, or by the clock."""
    if profiling.type == "nsys":
        return BY_STEPS
    return ("--delay", f"{profiling.delay_secs:g}", "--duration", f"{profiling.duration_secs:g}")
