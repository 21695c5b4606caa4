"""The script that binds a task of TensorRT-LLM to the NUMA node of its GPU."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from servesweep.engines.numa import script
from servesweep.plan.plan import Step

Workers = Callable[..., dict[str, Step]]


@pytest.fixture
def bound(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the script on a machine with two GPUs, of which the second stands on NUMA node 1, and a third
    whose node nobody knows; instead of binding, the commands are printed.
    """
    buses = {"0": "00000000:19:00.0", "1": "00000001:AB:00.0", "2": "00000000:2C:00.0"}
    for bus, node in (("0000:19:00.0", "0"), ("0001:ab:00.0", "1"), ("0000:2c:00.0", "-1")):
        device = tmp_path / f"sys/bus/pci/devices/{bus}"
        device.mkdir(parents=True)
        (device / "numa_node").write_text(f"{node}\n")
    for node, cpus in (("0", "0-31"), ("1", "32-63")):
        directory = tmp_path / f"sys/devices/system/node/node{node}"
        directory.mkdir(parents=True)
        (directory / "cpulist").write_text(f"{cpus}\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    cases = "\n".join(f"  *--id={gpu}*) echo {bus} ;;" for gpu, bus in buses.items())
    (programs / "nvidia-smi").write_text(f'#!/bin/bash\ncase "$*" in\n{cases}\nesac\n')
    for name in ("taskset", "numactl", "engine"):
        (programs / name).write_text(f'#!/bin/bash\necho {name} "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    (tmp_path / "numa_bind.sh").write_text(script("CUDA_VISIBLE_DEVICES"))

    def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(tmp_path / "numa_bind.sh"), *words],
            env={
                "PATH": f"{programs}:{os.environ['PATH']}",
                "SERVESWEEP_SYSFS": str(tmp_path / "sys"),
                **env,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("words", "env", "shown"),
    [
        (("engine", "a b"), {"SLURM_LOCALID": "0"}, "taskset -c 0-31 engine a b\n"),
        (("engine",), {"SLURM_LOCALID": "1"}, "taskset -c 32-63 engine\n"),
        (("engine",), {"SLURM_LOCALID": "0", "CUDA_VISIBLE_DEVICES": "1,0"}, "taskset -c 32-63 engine\n"),
        (("engine",), {"SLURM_LOCALID": "1", "CUDA_VISIBLE_DEVICES": "1,0"}, "taskset -c 0-31 engine\n"),
        (("--membind", "engine"), {"SLURM_LOCALID": "1"}, "numactl --membind=1 taskset -c 32-63 engine\n"),
        (("engine", "x"), {"SLURM_LOCALID": "2"}, "engine x\n"),
    ],
)
def test_a_task_is_bound_to_its_own_gpu(
    bound: Callable[..., subprocess.CompletedProcess[str]],
    words: tuple[str, ...],
    env: dict[str, str],
    shown: str,
) -> None:
    done = bound(*words, **env)
    assert (done.returncode, done.stdout) == (0, shown), done.stderr


def test_memory_cannot_be_bound_to_an_unknown_node(
    bound: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = bound("--membind", "engine", SLURM_LOCALID="2")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "GPU 2 tells no NUMA node to bind memory to\n"


@pytest.mark.parametrize(
    ("option", "prefix"),
    [
        ("numa_cpu_bind: true", "bash <LOGS>/numa_bind.sh numactl -m 0,1 trtllm-llmapi-launch"),
        ("numa_cpu_bind: true, numa_memory_bind: false", "bash <LOGS>/numa_bind.sh trtllm-llmapi-launch"),
        ("numa_cpu_bind: true, numa_memory_bind: local",
         "bash <LOGS>/numa_bind.sh --membind trtllm-llmapi-launch"),
    ],
)  # fmt: skip
def test_a_worker_starts_by_the_script(workers: Workers, option: str, prefix: str) -> None:
    step = workers(
        f"engine: {{type: trtllm, {option}}}\nresources: {{gpu_type: gb200}}\n"
        "roles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"
    )["prefill_0"]
    words = " ".join(step.command.argv)
    assert words.partition(" python3")[0] == prefix
    assert step.command.files["<LOGS>/numa_bind.sh"] == script("CUDA_VISIBLE_DEVICES")
    assert step.command.env["TLLM_NUMA_AWARE_WORKER_AFFINITY"] == "0"
