"""Which window of ports a job has on a node, by what Slurm shows of it."""

from __future__ import annotations

import pytest

from servesweep.runtime.sharing import told, windows_of
from servesweep.topology.windows import WINDOWS

# Lines of `scontrol show job --detail -o`, Slurm 22.05, shortened.
JOB = "JobId=7 NodeList={nodes} OverSubscribe={share} JOB_GRES={gres} {detail} MinCPUsNode=2"
NODE = "NodeName={name} CPUAlloc=4 CPUTot=64 CPULoad=0.1 Gres={gres} NodeAddr=10.0.0.1"


def windows(*detail: str, share: str = "OK", node_gres: str = "gpu:h100:8(S:0-1)") -> dict[str, int]:
    line = JOB.format(nodes="gpu[1-2]", share=share, gres="gpu:h100:4", detail=" ".join(detail))
    return windows_of(
        line,
        lambda hosts: ["gpu1", "gpu2"] if hosts == "gpu[1-2]" else [hosts],
        lambda name: NODE.format(name=name, gres=node_gres),
    )


def of(nodes: str, cpus: str, gres: str) -> str:
    return f"Nodes={nodes} CPU_IDs={cpus} Mem=1000 GRES={gres}"


def test_the_first_gpu_of_each_node_says() -> None:
    first, second = of("gpu1", "0-3", "gpu:h100:4(IDX:0-3)"), of("gpu2", "0-3", "gpu:h100:4(IDX:4-7)")
    assert windows(first, second) == {"gpu1": 0, "gpu2": 4}


def test_nodes_with_the_same_numbers_stand_in_one_group() -> None:
    assert windows(of("gpu[1-2]", "4-7", "gpu:h100:2(IDX:2,5)")) == {"gpu1": 2, "gpu2": 2}


def test_gpus_of_several_kinds_are_numbered_together() -> None:
    assert windows(of("gpu1", "0-3", "gpu:a100:1(IDX:6),gpu:h100:2(IDX:3-4),shard:0(0/8)")) == {"gpu1": 3}


@pytest.mark.parametrize("share", ["NO", "EXCLUSIVE"])
def test_a_job_of_whole_nodes_keeps_the_usual_ports(share: str) -> None:
    assert windows(of("gpu1", "32-63", "gpu:h100:4(IDX:4-7)"), share=share) == {}


def test_without_gpus_the_first_cpu_says_and_never_a_window_of_gpus() -> None:
    assert windows(of("gpu1", "0-3", "")) == {"gpu1": 16}
    assert windows(of("gpu1", "60-63", "")) == {"gpu1": 16 + 60 * (WINDOWS - 16) // 64}


def test_where_no_node_has_gpus_the_first_cpus_have_the_usual_ports() -> None:
    assert windows(of("gpu1", "0-3", ""), node_gres="(null)") == {"gpu1": 0}
    assert windows(of("gpu1", "4-7", ""), node_gres="(null)") == {"gpu1": 3}


def test_all_cpus_of_a_node_are_the_node() -> None:
    assert windows(of("gpu1", "0-63", "")) == {}


def test_gpus_that_slurm_does_not_number_say_nothing() -> None:
    assert windows(of("gpu1", "8-11", "gpu:8")) == {"gpu1": 16 + 8 * (WINDOWS - 16) // 64}


def test_a_line_says_where_the_ports_are() -> None:
    assert told({"n0": 0, "n1": 4}, {"n0": "gpu1", "n1": "gpu2"}.__getitem__) == [
        "gpu2 may carry other jobs: there 8000 is 13696, and every other port has moved too (window 4)"
    ]
