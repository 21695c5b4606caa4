"""The hardware that a run had."""

import json
import os
from pathlib import Path

from servesweep.evidence.cpu_check import CpuSignals
from servesweep.evidence.files import RunFiles
from servesweep.evidence.snapshot import backend_gpus, write_snapshot
from servesweep.plan.plan import Plan
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file

SIGNALS = CpuSignals("gpu07", {"gpu07": 4}, {"SLURM_CPUS_ON_NODE": "4"}, (0, 1, 2, 3, 4, 5))


def test_what_was_planned_and_what_is_there(plan: Plan, files: RunFiles) -> None:
    path = files.logs / "resource_snapshot.json"
    check = write_snapshot(path, plan, "17", {"n0": "gpu07"}, SIGNALS)
    snapshot = json.loads(path.read_text())
    assert snapshot["gpus"] == {
        "type": None, "configured_per_node": 8, "configured_total": 8, "backend_total": 8,
    }  # fmt: skip
    assert (snapshot["job_id"], snapshot["nodes"]) == ("17", {"count": 1, "names": ["gpu07"]})
    assert snapshot["hardware"]["host_logical_cpus"] == os.cpu_count()
    assert Path("/proc/cpuinfo").exists() == (snapshot["hardware"]["cpu_model"] is not None)
    assert snapshot["cpus"] == {
        "allocated_total": 4,
        "allocated_per_node": {"gpu07": 4},
        "current_node": "gpu07",
        "current_node_allocated": 4,
        "process_affinity_count": 6,
        "process_affinity_list": [0, 1, 2, 3, 4, 5],
        "effective_for_check": 4,
        "backend_node_allocations": [{"node": "gpu07", "allocated_cpus": 4, "backend_gpus": 8}],
    }
    assert snapshot["slurm_environment"] == {"SLURM_CPUS_ON_NODE": "4"}
    assert snapshot["cpu_check"] == check.record()
    assert check.status == "warning"


def test_the_gpus_of_workers_are_told_by_node_and_sum_up(plan: Plan) -> None:
    recipe = Path("demo.yaml").read_text()
    roles = "roles: {prefill: {nodes: 1, workers: 2, gpus: 2}, decode: {nodes: 2, workers: 1, gpus: 16}}"
    recipe = recipe.replace("roles: {agg: {nodes: 1}}", roles).replace("direct", "sglang-router")
    recipe = recipe.replace("engine: simulator", "engine: sglang")
    Path("split.yaml").write_text(recipe)
    ((_, split),) = read_recipe_file(RecipeFile("split.yaml"), plan.cluster, Path())
    held = backend_gpus(split, {"n0": "a", "n1": "b", "n2": "c"})
    assert held == {"a": 4, "b": 8, "c": 8}
    assert sum(held.values()) == split.topology.total_gpus
    # On one machine all nodes are the same host.
    assert backend_gpus(split, dict.fromkeys(("n0", "n1", "n2"), "here")) == {"here": 20}
