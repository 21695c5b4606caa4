"""Each worker's process writes where it really runs, and is its engine all the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from servesweep.evidence.files import RunFiles
from servesweep.evidence.fingerprint import fingerprint_name, read_fingerprints, with_fingerprints
from servesweep.evidence.lockfile import lock_section
from servesweep.evidence.node_fingerprint import gpus
from servesweep.plan.plan import Plan, Step

SECRET = "hunter2"
# What nvidia-smi of driver 535 prints for two boards.
CSV = """\
0, GPU-5c37, NVIDIA H100 80GB HBM3, 535.129.03, 81559 MiB
1, GPU-9e0a, NVIDIA H100 80GB HBM3, 535.129.03, 81559 MiB
"""


def worker(plan: Plan, logs: Path, **changes: Any) -> Step:
    """The plan's worker as it is started, with changes."""
    bound = replace(plan.deployment.binding, logs=str(logs.resolve()))
    steps = tuple(replace(step, **changes) if step.kind == "worker" else step for step in plan.steps)
    deployment = replace(plan.deployment, binding=bound)
    made = with_fingerprints(replace(plan, deployment=deployment, steps=steps), logs)
    return next(step for step in made.steps if step.kind == "worker")


def started(step: Step, *engine: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the worker's words with another program in the engine's place, behind the eight of the shell."""
    words = [*step.command.argv[:8], *engine]
    environment = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **env}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def appeared(path: Path) -> dict[str, Any]:
    """The file, once it is there."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} does not appear"
        time.sleep(0.02)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_it_tells_hardware_software_and_the_variables_of_engines_but_no_secret(
    plan: Plan, files: RunFiles
) -> None:
    step = worker(plan, files.logs)
    told = {"NCCL_DEBUG": "INFO", "VLLM_MAX_TOKENS_PER_EXPERT": "8", "CUDA_VERSION": "12.8.1"}
    hidden = {"HF_TOKEN": SECRET, "HF_ENDPOINT": f"https://me:{SECRET}@hub:8443/x"}
    started(step, "true", SLURM_CPUS_ON_NODE="8", SLURM_JOB_ID="3", HOME="/nowhere", **hidden, **told)
    found = appeared(files.logs / "fingerprint_agg_w0.json")
    assert list(found) == [
        *("hostname", "timestamp", "arch", "os", "cpu", "gpu", "python_version", "cuda_version"),
        *("nccl_version", "frameworks", "model", "env", "pip_packages"),
    ]
    assert found["env"] == {
        **told, "HF_TOKEN": "***REDACTED***", "HF_ENDPOINT": "https://me:***REDACTED***@hub:8443/x",
    }  # fmt: skip
    assert found["cuda_version"] == "12.8.1"
    assert f"click=={metadata.version('click')}" in found["pip_packages"]
    assert found["model"]["path"] == "tiny"
    assert found["cpu"]["slurm"] == {"SLURM_CPUS_ON_NODE": "8"}
    assert found["cpu"]["logical_cpus"] == os.cpu_count()
    assert found["cpu"]["affinity_list"] == sorted(os.sched_getaffinity(0))
    assert found["cpu"]["affinity_cpus"] == len(found["cpu"]["affinity_list"])
    assert found["gpu"]["assigned"] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert SECRET not in json.dumps(found)


def test_the_affinity_is_the_processes_own(plan: Plan, files: RunFiles) -> None:
    step = worker(plan, files.logs)
    first = min(os.sched_getaffinity(0))
    words = ["taskset", "--cpu-list", str(first), *step.command.argv[:8], "true"]
    subprocess.run(words, check=True)
    assert appeared(files.logs / "fingerprint_agg_w0.json")["cpu"]["affinity_list"] == [first]


def test_the_engine_keeps_its_words_its_process_and_its_exit_code(plan: Plan, files: RunFiles) -> None:
    step = worker(plan, files.logs)
    assert step.command.argv[-len(plan.steps[0].command.argv) :] == plan.steps[0].command.argv
    done = started(step, "sh", "-c", 'printf "%s|" "$0" "$@"; exit 7', "a b", "", '"$HOME"')
    assert (done.stdout, done.stderr, done.returncode) == ('a b||"$HOME"|', "", 7)
    # Nobody but its own children is the engine's child.
    listed = started(step, sys.executable, "-c", "import os; print(os.waitpid(-1, os.WNOHANG))")
    assert "ChildProcessError" in listed.stderr


def test_an_environment_without_python_runs_the_engine_all_the_same(plan: Plan, files: RunFiles) -> None:
    bare = files.root / "bin"
    bare.mkdir()
    for program in ("sh", "echo"):
        (bare / program).symlink_to(shutil.which(program) or program)
    done = started(worker(plan, files.logs), "echo", "serving", PATH=str(bare.resolve()))
    assert (done.stdout, done.returncode) == ("serving\n", 0)
    assert read_fingerprints(files.logs) == {}


@pytest.mark.parametrize(
    ("name", "rank", "tasks", "several", "expected"),
    [
        ("prefill_1", 0, 1, False, "fingerprint_prefill_w1.json"),
        ("prefill_1", 0, 1, True, "fingerprint_prefill_w1_r0.json"),
        ("prefill_1_r1", 1, 1, True, "fingerprint_prefill_w1_r1.json"),
        ("prefill_1", 0, 16, False, "fingerprint_prefill_w1_r{rank}.json"),
    ],
)
def test_every_process_has_a_file_of_its_own(
    plan: Plan, name: str, rank: int, tasks: int, several: bool, expected: str
) -> None:
    update = {"name": name, "mode": "prefill", "index": 1, "rank": rank, "tasks": tasks}
    assert fingerprint_name(replace(plan.steps[0], **update), several) == expected


def test_the_tasks_of_one_step_tell_themselves_apart_by_their_number(plan: Plan, files: RunFiles) -> None:
    step = worker(plan, files.logs, tasks=2)
    for number in ("0", "1"):
        started(step, "true", SLURM_PROCID=number)
    for number in ("0", "1"):
        appeared(files.logs / f"fingerprint_agg_w0_r{number}.json")


def test_the_lockfile_holds_them(plan: Plan, files: RunFiles) -> None:
    started(worker(plan, files.logs), "true")
    found = appeared(files.logs / "fingerprint_agg_w0.json")
    assert lock_section(files, plan)["fingerprints"] == {"agg_w0": found}


def test_the_boards_as_nvidia_smi_tells_them() -> None:
    assert gpus(CSV)["driver"] == "535.129.03"
    assert gpus(CSV)["gpus"][1] == {
        "index": "1",
        "uuid": "GPU-9e0a",
        "name": "NVIDIA H100 80GB HBM3",
        "driver": "535.129.03",
        "memory": "81559 MiB",
    }
    assert gpus("No devices were found\n") == {"available": False, "driver": None, "gpus": []}
