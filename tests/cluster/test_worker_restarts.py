"""Workers that are started again on real nodes: as steps of Slurm, all ranks of a worker together."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.long

RECIPES = Path(__file__).resolve().parents[2] / "config/recipes/features"
# Found by Dynamo; a step of it is killed by scancel.
FOUND, RANKS = "worker-restart", "ranks"
# Long enough for two lives on a busy machine; the run then ends well.
SERVING = {"type": "manual", "serve_seconds": 60}
# In the place of SGLang, which is not installed here: rank 0 serves, the others stay.
SGLANG = """
import os, sys
given = dict(zip(sys.argv[1:], sys.argv[2:]))
if given.get("--node-rank", "0") != "0":
    os.execvp("sleep", ["sleep", "603"])
words = ["python3", "-m", "servesweep.simulator", "--host", "0.0.0.0", "--port", given["--port"]]
words += ["--model-path", given["--model-path"], "--model-name", given["--served-model-name"]]
os.execvp(words[0], words)
"""
RANKED: dict[str, Any] = {
    "schema": 2,
    "name": RANKS,
    "model": {"path": "tiny", "precision": "fp16"},
    "engine": "sglang",
    "resources": {"gpus_per_node": 8},
    "roles": {
        "agg": {
            **{"nodes": 2, "workers": 1, "gpus": 16, "args": {"tensor-parallel-size": 16}},
            "restart": {"policy": "on-failure", "backoff_seconds": 1},
        }
    },
    "frontend": {"type": "sglang-router", "enable_multiple_frontends": False},
    "slurm": {"time_limit": "00:10:00"},
    "health_check": {"max_attempts": 60, "interval_seconds": 1},
    "benchmark": SERVING,
}


@dataclass
class Seen:
    """The finished sweep, and what was seen while it ran."""

    sweep: Any
    output: str = ""
    instances: list[set[int]] = field(default_factory=list)
    steps: dict[str, str] = field(default_factory=dict)

    def host(self, name: str, node: int) -> str:
        return str(self.sweep.project.json(f"{name}/run.json")["nodes"][node]["host"])

    def job(self, name: str) -> int:
        return int(self.sweep.project.json(f"{name}/run.json")["job_id"])

    def record(self, name: str) -> dict[str, Any]:
        return dict(self.sweep.project.json(f"{name}/logs/worker_restarts.json"))


@pytest.fixture(scope="module")
def seen(new_sweep: Any, cluster: Any) -> Seen:
    from tests.conftest import require

    require("ai-dynamo", importlib.util.find_spec("dynamo") is not None, "uv pip install -e '.[dynamo]'")
    require("etcd", shutil.which("etcd") is not None, "apt-get install etcd-server")
    seen = Seen(new_sweep("restarts"))
    project = seen.sweep.project
    shipped = yaml.safe_load((RECIPES / f"{FOUND}.yaml").read_text())
    shipped["benchmark"] = SERVING
    project.write("stand-in/sglang/__init__.py", "")
    project.write("stand-in/sglang/launch_server.py", SGLANG)
    ranked = {**RANKED, "environment": {"PYTHONPATH": str(project.root / "stand-in")}}
    for recipe in (shipped, ranked):
        project.write(f"config/recipes/{recipe['name']}.yaml", json.dumps(recipe))
    process = seen.sweep.start()
    hit: set[str] = set()
    seen.sweep.wait_until(lambda: hit_those_that_serve(seen, cluster, hit), 240, "both runs serving")
    seen.sweep.wait_until(lambda: back(seen), 120, "both workers serving again")
    note_instances(seen, 2)
    output, _ = process.communicate(timeout=240)
    seen.output = output
    assert process.returncode == 0, output + seen.sweep.log(FOUND) + seen.sweep.log(RANKS)
    cluster.nothing_is_left(project.root)
    return seen


def hit_those_that_serve(seen: Seen, cluster: Any, hit: set[str]) -> bool:
    """End one process of each run that serves; true when none is left to do."""
    project = seen.sweep.project
    for name in {FOUND, RANKS} - hit:
        if not project.exists(f"{name}/health.json"):
            continue
        hit.add(name)
        allocation = project.json(f"{name}/allocation.json")
        if name == FOUND:
            note_instances(seen, 2)
            steps = {title: step for step, title in cluster.steps(int(allocation["job_id"])).items()}
            seen.steps = steps
            subprocess.run(["scancel", "--signal=KILL", steps["agg_1"]], check=True)
        else:
            # The rank on the second node dies.
            second = allocation["hosts"][1]["host"]
            (pid,) = [pid for pid, line in cluster.processes(second) if line == "sleep 603"]
            os.kill(pid, signal.SIGKILL)
    return hit == {FOUND, RANKS}


def back(seen: Seen) -> bool:
    return all(
        [event["outcome"] for event in seen.record(name)["events"]] == ["ready"] for name in (FOUND, RANKS)
    )


def note_instances(seen: Seen, wanted: int) -> None:
    """The ids by which Dynamo's frontend knows the workers, once there are so many and no others."""
    address = seen.sweep.project.json(f"{FOUND}/allocation.json")["hosts"][0]["address"]

    def known() -> bool:
        try:
            with urllib.request.urlopen(f"http://{address}:8000/health", timeout=5) as answer:
                listed = json.loads(answer.read()).get("instances", [])
        except OSError:
            return False
        found = {one["instance_id"] for one in listed if one.get("endpoint") == "generate"}
        if len(found) != wanted or found in seen.instances:
            return False
        seen.instances.append(found)
        return True

    seen.sweep.wait_until(known, 60, f"{wanted} workers known to the frontend")


def test_a_step_killed_by_scancel_is_relaunched_under_its_next_name(seen: Seen, cluster: Any) -> None:
    host = seen.host(FOUND, 0)
    rows = cluster.accounting(seen.job(FOUND))
    assert rows[f"agg_1_{host}_r1"]["NodeList"] == host
    assert "agg_0" in rows
    assert f"agg_0_{host}_r1" not in rows
    (event,) = seen.record(FOUND)["events"]
    fixed = {
        "worker": "agg_1", "node": host, "attempt": 1, "exit_code": 137, "outcome": "ready",
        "backoff_seconds": 10, "crash_log": f"logs/{host}_agg_w1.out.1",
    }  # fmt: skip
    assert {key: event[key] for key in fixed} == fixed


def test_the_frontend_knows_the_next_life_as_a_new_instance(seen: Seen) -> None:
    before, after = seen.instances
    assert len(before & after) == 1


def test_one_rank_that_dies_brings_the_whole_worker_back(seen: Seen, cluster: Any) -> None:
    first, second = seen.host(RANKS, 0), seen.host(RANKS, 1)
    rows = cluster.accounting(seen.job(RANKS))
    lives = {
        name: (row["NodeList"], row["ExitCode"]) for name, row in rows.items() if name.startswith("agg_0")
    }
    assert {name: node for name, (node, _) in lives.items()} == {
        "agg_0": first,
        "agg_0_r1": second,
        f"agg_0_{first}_r1": first,
        f"agg_0_{second}_r1": second,
    }
    # The rank that lived was asked to end.
    assert lives["agg_0"][1] in ("0:0", "0:15")
    assert lives["agg_0_r1"][1] == "0:9"
    names = {name.rpartition("/")[2] for name in seen.sweep.project.files(f"{RANKS}/logs/*_agg_w0.out*")}
    assert names == {f"{host}_agg_w0.out{life}" for host in (first, second) for life in ("", ".1")}


def test_the_same_command_runs_again_on_the_same_node(seen: Seen) -> None:
    """Same port, same arguments: each life says the same of itself."""
    logs, first = seen.sweep.project.root / f"results/{RANKS}/logs", seen.host(RANKS, 0)
    lives = [
        re.findall(r"simulator listening.*", (logs / f"{first}_agg_w0.out{life}").read_text())
        for life in (".1", "")
    ]
    assert lives[0] == lives[1]
    assert len(lives[0]) == 1


@pytest.mark.parametrize("name", [FOUND, RANKS])
def test_the_run_ends_well_and_its_lockfile_tells_the_restart(seen: Seen, name: str) -> None:
    text = (seen.sweep.project.root / f"results/{name}/recipe.lock.yaml").read_text()
    lock = yaml.safe_load(text)["lock"]
    assert lock["worker_restarts"] == seen.record(name)
    assert lock["worker_restarts"]["total_restarts"] == 1


def test_status_counts_the_restarts(seen: Seen) -> None:
    said = seen.sweep.project.servesweep("status", "results", "--once", "--json").stdout
    views = [json.loads(line) for line in said.splitlines()]
    counts = {view["configuration"]: view["restarts"] for view in views if "configuration" in view}
    assert counts == {FOUND: 1, RANKS: 1}
