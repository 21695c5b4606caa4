"""One effective CPU for each GPU that workers hold, on the node that has it worst."""

from __future__ import annotations

import pytest

from servesweep.evidence.cpu_check import (
    CpuSignals,
    count_of,
    judge,
    per_node,
    ranges,
    told_signals,
    told_warning,
)

EIGHT = tuple(range(8))


def test_four_gpus_with_two_cpus_are_a_warning_that_cannot_be_overlooked() -> None:
    signals = CpuSignals("a", {"a": 2}, {"SLURM_CPUS_ON_NODE": "2"}, (0, 1))
    check = judge(signals, {"a": 4}, "h100")
    assert check.record() == {
        "status": "warning",
        "gpu_count_basis": "backend_gpus_of_node",
        "minimum_cpu_count": 4,
        "available_cpu_count": 2,
        "available_cpu_source": "slurm_allocation",
        "node": "a",
        "message": check.message,
    }
    first, warning, last = told_warning(check)
    assert warning.startswith(
        "CPU ALLOCATION WARNING: 2 CPUs for the 4 GPUs that workers hold on a (by slurm_allocation), "
        "and at least 4 are wanted: "
    )
    assert first == last == "!" * 100


def test_one_cpu_a_gpu_is_enough() -> None:
    check = judge(CpuSignals("a", {"a": 8}, {}, EIGHT), {"a": 8}, "h100")
    assert (check.status, check.cpus, check.gpus) == ("ok", 8, 8)
    assert told_warning(check) == []


@pytest.mark.parametrize(
    ("allocated", "on_node", "affinity", "source"),
    [
        (3, "8", EIGHT, "slurm_allocation"),
        (8, "3", EIGHT, "SLURM_CPUS_ON_NODE"),
        (8, "8", (0, 1, 2), "process_affinity"),
    ],
)
def test_the_smallest_of_what_holds_for_the_node_counts(
    allocated: int, on_node: str, affinity: tuple[int, ...], source: str
) -> None:
    signals = CpuSignals("a", {"a": allocated}, {"SLURM_CPUS_ON_NODE": on_node}, affinity)
    check = judge(signals, {"a": 4}, None)
    assert (check.status, check.cpus, check.source) == ("warning", 3, source)


def test_what_the_supervisors_node_sees_says_nothing_of_another_node() -> None:
    signals = CpuSignals("a", {"a": 64, "b": 64}, {"SLURM_CPUS_ON_NODE": "1"}, (0,))
    assert judge(signals, {"b": 8}, "h100").status == "ok"


def test_the_node_with_the_fewest_cpus_a_gpu_is_judged() -> None:
    signals = CpuSignals("a", {"a": 16, "b": 4, "c": 6})
    check = judge(signals, {"a": 8, "b": 4, "c": 8}, "h100")
    assert (check.node, check.cpus, check.gpus, check.status) == ("c", 6, 8, "warning")


def test_a_node_without_workers_needs_no_cpu() -> None:
    assert judge(CpuSignals("a", {"a": 1, "b": 8}), {"a": 0, "b": 8}, "h100").status == "ok"


def test_nothing_is_claimed_where_nothing_is_known() -> None:
    assert judge(CpuSignals("a"), {"b": 8}, "h100").status == "unknown"
    assert judge(CpuSignals("a", {"a": 1}), {"a": 8}, "virtual").status == "unknown"
    assert judge(CpuSignals("a", {"a": 1}), {}, None).status == "ok"


def test_the_log_tells_both_variables_and_the_affinity() -> None:
    slurm = {"SLURM_JOB_CPUS_PER_NODE": "8(x2)", "SLURM_CPUS_ON_NODE": "8"}
    assert told_signals(CpuSignals("a", {}, slurm, (0, 1, 2, 5))) == (
        "CPUs: SLURM_JOB_CPUS_PER_NODE=8(x2), SLURM_CPUS_ON_NODE=8, affinity of the process: 4 (0-2,5)"
    )
    assert "SLURM_CPUS_ON_NODE=unset" in told_signals(CpuSignals("a"))


def test_slurms_spellings_of_counts() -> None:
    assert per_node("72(x2),36") == [72, 72, 36]
    assert per_node("") == []
    assert count_of("56-63") == 8
    assert count_of("0-3,8,10-11") == 7
    assert ranges((8, 0, 1, 2)) == "0-2,8"
    assert ranges(()) == ""
