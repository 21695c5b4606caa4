"""`make bench-overhead`: what a run costs beside a hand-written batch script that does the same.

One configuration of eight points, about a minute of load, runs as a sweep of its own on the cluster that is
up (`make cluster`). Then a batch script starts the same server and, one after the other, the same eight
clients on the same node. Compared are the two jobs, from start to end as Slurm tells both of them: in whole
seconds, so three of each, in turn. What the load itself took stands beside them. Not a test: it times, and so
it only prints.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY))

from tests.conftest import Project, make_project  # noqa: E402

GOAL = 1.05
ROUNDS = 3
POINTS = 8
RECIPE = {
    "schema": 2,
    "name": "overhead",
    "model": {"path": "tiny", "precision": "fp16"},
    "engine": "simulator",
    "resources": {"gpus_per_node": 8},
    "roles": {"agg": {"nodes": 1, "workers": 1, "gpus": 8, "args": {"ttft-ms": 20, "itl-ms": 10}}},
    "frontend": {"type": "direct"},
    "slurm": {"time_limit": "00:10:00"},
    "benchmark": {
        "type": "sa-bench",
        "isl": 32,
        "osl": 75,
        "random_range_ratio": 1.0,
        "concurrencies": "1x2x3x4x5x6x7x8",
        "num_prompts_mult": 10,
        "num_warmup_mult": 0,
    },
}
# What somebody writes who has one configuration and an afternoon.
SCRIPT = """#!/bin/bash
set -eu
srun --overlap --nodes=1 --ntasks=1 --output=server.log {server} &
until curl --silent --fail --output /dev/null {url}/health; do sleep 0.1; done
for load in loads/*.json; do
  {python} -m servesweep.loadgen "$load" --output "$(basename "$load" .json)/result.json"
done
scancel --signal=TERM "$SLURM_JOB_ID.0"
wait || true
"""


@dataclass(frozen=True)
class Took:
    """Seconds of a job, and of the load in it."""

    job: float
    load: float


def main() -> None:
    """Run both in turn and print the figures."""
    print(f"load of the machine before: {os.getloadavg()[0]:.2f} (a figure counts below 1.5)")
    rounds = [one_round() for _ in range(ROUNDS)]
    for name, took in zip(("servesweep", "by hand"), zip(*rounds, strict=True), strict=True):
        jobs, load = " ".join(f"{one.job:.0f}" for one in took), sum(one.load for one in took) / ROUNDS
        print(f"{name:12} jobs {jobs} s, of each load {load:5.1f} s")
    sweep, hand = (sum(took[side].job for took in rounds) for side in (0, 1))
    print(f"ratio of the jobs: {sweep / hand:.3f} (goal: at most {GOAL})")


def one_round() -> tuple[Took, Took]:
    """A sweep's job, and the one by hand."""
    with tempfile.TemporaryDirectory() as directory:
        project = make_project(Path(directory) / "project")
        return by_servesweep(project), by_hand(project, Path(directory) / "by-hand")


def by_servesweep(project: Project) -> Took:
    """The job of a sweep of one configuration."""
    project.write("config/recipes/overhead.yaml", json.dumps(RECIPE))
    done = project.snakemake("--profile", "cluster", "--config", "recipes=config/recipes", timeout=600)
    if done.returncode:
        sys.exit(done.stdout)
    job = project.json("overhead/allocation.json")["job_id"]
    results = [project.json(path) for path in project.files("overhead/points/*/result.json")]
    return Took(_seconds_of(job), _load(results))


def by_hand(project: Project, directory: Path) -> Took:
    """The same server and clients, on the same node, by a batch script."""
    root = project.root / "results/overhead"
    plan = json.loads((root / "deployment.json").read_text())
    host = json.loads((root / "allocation.json").read_text())["hosts"][0]
    step = next(step for step in plan["steps"] if step["kind"] == "worker")
    (directory / "loads").mkdir(parents=True)
    (directory / "config").symlink_to(project.root / "config")
    for point in plan["points"]:
        (directory / point["id"]).mkdir()
        load = (root / "points" / point["id"] / "load.json").read_text()
        (directory / "loads" / f"{point['id']}.json").write_text(load)
    server = " ".join([sys.executable, *step["command"]["argv"][1:]])
    url = f"http://{host['address']}:{step['probe']['port']}"
    script = SCRIPT.format(server=server, url=url, python=sys.executable)
    words = ["sbatch", "--parsable", "--wait", "--exclusive", "--gpus-per-node=8", "--output=job.log"]
    words += [f"--nodelist={host['host']}"]
    job = subprocess.run(
        words, input=script, cwd=directory, text=True, check=True, capture_output=True
    ).stdout
    results = [json.loads(path.read_text()) for path in sorted(directory.glob("*/result.json"))]
    return Took(_seconds_of(job.strip()), _load(results))


def _load(results: list[dict[str, Any]]) -> float:
    if len(results) != POINTS or not all(result["valid"] for result in results):
        sys.exit(f"{len(results)} of {POINTS} points")
    return sum(result["duration_s"] for result in results)


def _seconds_of(job: str) -> float:
    """From the job's start to its end, which Slurm tells in whole seconds."""
    shown = subprocess.run(
        ["scontrol", "show", "job", job], capture_output=True, text=True, check=True
    ).stdout
    start, end = (re.search(rf"\b{name}=(\S+)", shown) for name in ("StartTime", "EndTime"))
    assert start
    assert end
    return (datetime.fromisoformat(end[1]) - datetime.fromisoformat(start[1])).total_seconds()


if __name__ == "__main__":
    main()
