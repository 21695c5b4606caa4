"""`gpu_quota`: a sweep never holds more GPUs than that, and `servesweep status` tells how many it holds."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

NAMES = ("one", "three", "two")
QUOTA = 16


@dataclass
class Watched:
    """A sweep of three configurations of 8 GPUs, and what was seen while it ran."""

    sweep: Any
    output: str = ""
    jobs: list[dict[str, str]] = field(default_factory=list)
    looks: list[list[dict[str, Any]]] = field(default_factory=list)


def with_quota(sweep: Any, quota: int) -> None:
    """Have the project's profile set the quota, as its comment tells to."""
    path = sweep.project.root / "profiles/cluster/config.yaml"
    text, changed = re.subn(
        r"^# resources: gpu_quota=\d+$", f"resources: gpu_quota={quota}", path.read_text(), flags=re.M
    )
    assert changed == 1
    path.write_text(text)


def look(sweep: Any) -> list[dict[str, Any]]:
    """What `servesweep status --json` prints: the configurations, then the sweep."""
    done = sweep.project.servesweep("status", "--json")
    assert done.returncode == 0, done.stdout
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def watched(new_sweep: Any) -> Watched:
    watched = Watched(new_sweep("quota"))
    for name in NAMES:
        watched.sweep.recipe(name, osl=200, random_range_ratio=1.0, args={"itl-ms": 15})
    with_quota(watched.sweep, QUOTA)
    process = watched.sweep.start()
    while process.poll() is None:
        states = watched.sweep.jobs()
        watched.jobs.append({name: row["job_state"] for name, row in states.items()})
        if watched.sweep.project.exists("sweep.json"):
            watched.looks.append(look(watched.sweep))
        time.sleep(0.2)
    watched.output = process.communicate()[0]
    assert process.returncode == 0, watched.output
    watched.looks.append(look(watched.sweep))
    return watched


def test_all_are_run(watched: Watched) -> None:
    assert len(watched.sweep.submitted(watched.output)) == len(NAMES)


def test_never_more_than_two_jobs_are_in_the_queue(watched: Watched) -> None:
    counts = [len(states) for states in watched.jobs]
    # There are GPUs for all three: nothing but the quota keeps the third one waiting.
    assert max(counts) == 2, watched.jobs


def test_status_tells_the_quota_and_never_more_than_it(watched: Watched) -> None:
    sweeps = [lines[-1] for lines in watched.looks]
    assert {sweep["gpu_quota"] for sweep in sweeps} == {QUOTA}
    assert max(sweep["gpus_held"] for sweep in sweeps) == QUOTA
    assert sweeps[-1]["gpus_held"] == 0
    assert sweeps[-1]["stages"] == {"finished": 3}


def test_status_follows_a_configuration_by_slurm_and_by_its_files(watched: Watched) -> None:
    seen = [line for lines in watched.looks for line in lines if line.get("configuration") == "one"]
    running = [view for view in seen if view["output_tok_s"]]
    assert running, "it was never seen at work"
    for view in running:
        assert (view["slurm_state"], view["stage"]) == ("RUNNING", "benchmark")
        assert view["workers"] == {"agg": {"up": 1, "total": 1}}
        assert view["points"]["current"] == "c1"
    assert (seen[-1]["stage"], seen[-1]["points"]["valid"]) == ("finished", 1)
    assert seen[-1]["slurm_state"] in ("COMPLETED", "COMPLETING", "RUNNING")


def test_the_cpus_are_told_by_slurm_although_the_job_step_hides_them(watched: Watched) -> None:
    snapshot = watched.sweep.project.json("one/logs/resource_snapshot.json")
    (node,) = snapshot["nodes"]["names"]
    # Exclusive nodes give all their CPUs.
    assert snapshot["cpus"]["allocated_per_node"] == {node: 64}
    assert snapshot["slurm_environment"]["SLURM_JOB_CPUS_PER_NODE"] == "64"
    assert snapshot["slurm_environment"]["SLURM_CPUS_ON_NODE"] == "64"
    # The nodes of this cluster are one machine: its affinity may be the fewest.
    check, affinity = snapshot["cpu_check"], snapshot["cpus"]["process_affinity_count"]
    assert check["available_cpu_count"] == min(64, affinity)
    assert check["status"] == ("warning" if affinity < 8 else "ok")
    story = (watched.sweep.project.root / "results/one/run.log").read_text()
    assert "CPUs: SLURM_JOB_CPUS_PER_NODE=64, SLURM_CPUS_ON_NODE=64, affinity of the process: " in story
    assert ("CPU ALLOCATION WARNING: " in story) == (affinity < 8)
    printed = watched.sweep.project.json("one/logs/fingerprint_agg_w0.json")
    assert printed["hostname"] == node
    assert printed["cpu"]["slurm"]["SLURM_CPUS_ON_NODE"] == "64"
    assert printed["gpu"]["assigned"] == list(range(8))
    text = (watched.sweep.project.root / "results/one/recipe.lock.yaml").read_text()
    assert "resource_snapshot:" in text
    assert f"hostname: {node}" in text


def test_a_configuration_larger_than_the_quota_is_refused_before_anything_is_submitted(
    watched: Watched,
) -> None:
    with_larger = watched.sweep
    path = with_larger.project.root / "profiles/cluster/config.yaml"
    path.write_text(path.read_text().replace(f"gpu_quota={QUOTA}", "gpu_quota=4"))
    done = with_larger.run()
    assert done.returncode == 1
    assert (
        "config/recipes/one.yaml: one needs 8 GPUs (1 node of 8), and the sweep may hold 4 at once: "
        "raise gpu_quota, or make it smaller"
    ) in done.stdout
    assert with_larger.submitted(done.stdout) == []


def test_nothing_is_left(watched: Watched, cluster: Any) -> None:
    cluster.nothing_is_left(watched.sweep.project.root)
