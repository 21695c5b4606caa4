"""Two nodes on which Slurm gives two CPUs for eight GPUs: told before anything starts, and kept."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

GPUS, CPUS = 8, 2
ASKED = {"SLURM_CPUS_ON_NODE": str(CPUS), "SLURM_JOB_CPUS_PER_NODE": f"{CPUS}(x2)"}


@dataclass
class Starved:
    """The finished sweep."""

    sweep: Any
    done: subprocess.CompletedProcess[str]

    def json(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.sweep.project.json(f"starved/{name}")
        return found


@pytest.fixture(scope="module")
def starved(new_sweep: Any) -> Starved:
    sweep = new_sweep("starved")
    path = sweep.project.root / "config/cluster.yaml"
    path.write_text(path.read_text().replace("use_exclusive_sbatch_directive: true", ""))
    recipe = {
        "schema": 2,
        "name": "starved",
        "model": {"path": "tiny", "precision": "fp16"},
        "engine": "simulator",
        "roles": {"agg": {"nodes": 2, "workers": 2, "gpus": GPUS, "args": {"ttft-ms": 20, "itl-ms": 5}}},
        "frontend": {"type": "sglang-router"},
        "sbatch_directives": {"cpus-per-task": "1"},
        "health_check": {"max_attempts": 60, "interval_seconds": 1},
        "benchmark": {"type": "sa-bench", "isl": 32, "osl": 16, "concurrencies": "2", "num_prompts_mult": 4},
    }
    # JSON is YAML.
    sweep.project.write("config/recipes/starved.yaml", json.dumps(recipe))
    return Starved(sweep, sweep.run())


def test_slurm_tells_each_nodes_cpus(starved: Starved) -> None:
    assert starved.done.returncode == 0, starved.done.stdout
    snapshot = starved.json("logs/resource_snapshot.json")
    first, second = snapshot["nodes"]["names"]
    assert snapshot["cpus"]["allocated_per_node"] == {first: CPUS, second: CPUS}
    assert snapshot["cpus"]["allocated_total"] == 2 * CPUS
    assert snapshot["cpus"]["backend_node_allocations"] == [
        {"node": node, "allocated_cpus": CPUS, "backend_gpus": GPUS} for node in (first, second)
    ]
    assert snapshot["slurm_environment"].items() >= ASKED.items()


def test_the_warning_stands_in_the_log_before_the_first_start(starved: Starved) -> None:
    story = (starved.sweep.project.root / "results/starved/run.log").read_text().splitlines()
    warning = next(i for i, line in enumerate(story) if "CPU ALLOCATION WARNING: " in line)
    assert (
        "CPUs for the 8 GPUs that workers hold on ssnode" in story[warning] or "1 CPU for" in story[warning]
    )
    assert warning < next(i for i, line in enumerate(story) if "started " in line)
    assert any("SLURM_JOB_CPUS_PER_NODE=2(x2), SLURM_CPUS_ON_NODE=2, affinity of" in line for line in story)


def test_the_lockfile_and_status_tell_it(starved: Starved) -> None:
    text = (starved.sweep.project.root / "results/starved/recipe.lock.yaml").read_text()
    lock = yaml.safe_load(text)["lock"]
    assert lock["resource_snapshot"]["cpu_check"]["status"] == "warning"
    done = starved.sweep.project.servesweep("status", "--json")
    view = json.loads(done.stdout.splitlines()[0])
    assert (view["cpus"]["status"], view["cpus"]["allocated"], view["cpus"]["minimum"]) == ("warning", 4, 8)


def test_each_worker_writes_what_it_finds_on_its_own_node(starved: Starved) -> None:
    hosts = starved.json("logs/resource_snapshot.json")["nodes"]["names"]
    for index, host in enumerate(hosts):
        found = starved.json(f"logs/fingerprint_agg_w{index}.json")
        assert found["hostname"] == host
        # A step is told of its own node; what the job has on all of them stands in the snapshot.
        assert found["cpu"]["slurm"]["SLURM_CPUS_ON_NODE"] == str(CPUS)
        assert found["gpu"]["assigned"] == list(range(GPUS))
    text = (starved.sweep.project.root / "results/starved/recipe.lock.yaml").read_text()
    assert list(yaml.safe_load(text)["lock"]["fingerprints"]) == ["agg_w0", "agg_w1"]


def test_nothing_is_left(starved: Starved, cluster: Any) -> None:
    cluster.nothing_is_left(starved.sweep.project.root)
