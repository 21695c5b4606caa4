"""Seed page, "CPU allocation visibility": what a running job tells of its CPUs, in all five places.

The same on a real cluster: tests/cluster/test_cpu_allocation.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from servesweep.evidence.cpu_check import CpuSignals
from servesweep.evidence.files import RunFiles, keep_plan
from servesweep.evidence.lockfile import write_lockfile
from servesweep.evidence.node_fingerprint import fingerprint
from servesweep.plan.plan import Plan, plan_text
from servesweep.runtime import cpu_signals
from servesweep.runtime.allocation import Allocation, Host
from servesweep.runtime.cpu_signals import record_resources
from servesweep.status.look import Looker

RECIPE = "engine: sglang\nroles: {agg: {nodes: 1, workers: 2, gpus: 2}}\nresources: {gpus_per_node: 4}\n"
SLURM = {"SLURM_JOB_CPUS_PER_NODE": "2", "SLURM_CPUS_ON_NODE": "2"}


class Job:
    """A job of one node whose Slurm gives `cpus` CPUs, at the moment before its services start."""

    def __init__(
        self, plan: Plan, root: Path, recipe: Path, cpus: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.files, self.story = RunFiles(root / "results/demo"), list[str]()
        slurm = dict.fromkeys(SLURM, str(cpus))
        told = CpuSignals(here="h0", allocated={"h0": cpus}, slurm=slurm, affinity=tuple(range(64)))
        monkeypatch.setattr(cpu_signals, "cpu_signals", lambda allocation: told)
        allocation = Allocation(
            launcher="slurm", job_id="7", supervisor_host="h0", supervisor_pid=1,
            started_at="2026-01-01T10:00:00+00:00", hosts=(Host(name="n0", host="h0", address="10.0.0.1"),),
        )  # fmt: skip
        keep_plan(self.files, plan_text(plan), str(recipe))
        self.files.logs.mkdir(parents=True)
        self.files.allocation.write_text(allocation.model_dump_json())
        record_resources(self.files.logs, plan, allocation, self.story.append)
        write_lockfile(self.files.root, plan)
        self.snapshot = json.loads((self.files.logs / "resource_snapshot.json").read_text())


@pytest.fixture
def job(read: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda cpus: Job(read.plan(RECIPE), read.root, read.file, cpus, monkeypatch)


class TestAtRuntime:
    def test_it_logs_both_variables_and_the_affinity(self, job: Any) -> None:
        assert job(2).story[0] == (
            "CPUs: SLURM_JOB_CPUS_PER_NODE=2, SLURM_CPUS_ON_NODE=2, affinity of the process: 64 (0-63)"
        )

    def test_the_snapshot_has_cpus_gpus_threshold_and_verdict(self, job: Any) -> None:
        snapshot = job(2).snapshot
        assert snapshot["cpus"]["allocated_per_node"] == {"h0": 2}
        assert snapshot["cpus"]["allocated_total"] == 2
        gpus = snapshot["gpus"]
        assert (gpus["backend_total"], gpus["configured_per_node"], gpus["configured_total"]) == (4, 4, 4)
        check = snapshot["cpu_check"]
        assert (check["status"], check["available_cpu_count"], check["minimum_cpu_count"]) == (
            "warning",
            2,
            4,
        )

    def test_the_lockfile_has_the_snapshot(self, job: Any) -> None:
        running = job(2)
        lock = yaml.safe_load((running.files.root / "recipe.lock.yaml").read_text())["lock"]
        assert lock["resource_snapshot"] == running.snapshot

    def test_status_has_the_allocation_and_the_warning(self, job: Any, read: Any) -> None:
        job(2)
        view = Looker(read.root / "results").configuration("demo")
        assert view.cpus is not None
        assert (view.cpus.status, view.cpus.allocated, view.cpus.minimum) == ("warning", 2, 4)

    def test_a_worker_s_fingerprint_has_them_beside_its_gpus(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, value in SLURM.items():
            monkeypatch.setenv(name, value)
        found = fingerprint([0, 1])
        assert found["gpu"]["assigned"] == [0, 1]
        assert found["cpu"].keys() >= {"model", "logical_cpus", "affinity_cpus", "affinity_list"}
        assert found["cpu"]["slurm"].items() >= SLURM.items()


class TestTheWarning:
    def test_four_gpus_with_two_cpus_are_told_prominently(self, job: Any) -> None:
        bar, warning, end = job(2).story[1:]
        assert bar == end == "!" * 100
        assert warning.startswith("CPU ALLOCATION WARNING: 2 CPUs for the 4 GPUs that workers hold on h0")
        assert all(word in warning for word in ("cpus-per-task", "cpus-per-gpu", "exclusive"))

    def test_one_cpu_for_each_gpu_is_enough(self, job: Any) -> None:
        running = job(4)
        assert len(running.story) == 1
        assert running.snapshot["cpu_check"]["status"] == "ok"
