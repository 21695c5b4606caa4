"""Sweeps of one user at the same time, each in a directory of its own, whose jobs share nodes.

Each job has some of a node's GPUs. The recipes ask for the same node by name, so that they do meet.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

pytestmark = pytest.mark.long

SIDES = ("left", "right")
# Prompts are answered after so many milliseconds: who asked the other one's server would see it.
TTFT = {"left": 40, "right": 600}
LOAD = "benchmark: {{type: sa-bench, isl: 32, osl: 8, concurrencies: '1', num_prompts_mult: {prompts}}}\n"
HEAD = """\
schema: 2
name: {name}
model: {{path: tiny, precision: fp16}}
resources: {{gpus_per_node: {gpus}}}
slurm: {{time_limit: "00:10:00"}}
sbatch_directives: {{nodelist: {node}}}
health_check: {{max_attempts: 60, interval_seconds: 1}}
"""
RECIPES = {
    "router": """\
engine: simulator
roles:
  prefill: {{nodes: 1, workers: 1, gpus: 2, args: {{ttft-ms: {ttft}, itl-ms: 1}}}}
  decode: {{nodes: colocate, workers: 1, gpus: 2, args: {{ttft-ms: 1, itl-ms: 1}}}}
frontend: {{type: sglang-router}}
""",
    "dynamo": """\
engine: mocker
roles: {{agg: {{nodes: 1, workers: 2, gpus: 2}}}}
frontend: {{type: dynamo}}
""",
}
# A point that goes on until it is told to end, and then asks its own server.
WAITING = """\
engine: simulator
roles: {{agg: {{nodes: 1, workers: 1, args: {{ttft-ms: {ttft}, itl-ms: 1}}}}}}
frontend: {{type: direct}}
benchmark:
  type: custom
  command: >-
    touch config/began; until [ -e config/end ]; do sleep 0.2; done;
    curl --fail --silent "http://$SRT_FRONTEND_HOST:$SRT_FRONTEND_PORT/v1/models"
"""
PORT = re.compile(r"(?:--[a-z-]*port[= ]|-p |https?://[\d.]+:)(\d+)")


def share_nodes(sweep: Any) -> None:
    """Let the sweep's jobs have a part of a node."""
    site = sweep.project.root / "config/cluster.yaml"
    site.write_text(site.read_text().replace("directive: true", "directive: false"))


def write(sweep: Any, name: str, text: str, **said: Any) -> None:
    said = {"gpus": 4, "prompts": 6, "ttft": 20, **said}
    load = "" if "benchmark:" in text else LOAD
    recipe = (HEAD + text + load).format(name=name, **said)
    sweep.project.write(f"config/recipes/{name}.yaml", recipe)


@dataclass
class Both:
    """Two finished sweeps of the same recipes."""

    sweeps: dict[str, Any]
    outputs: dict[str, str]
    codes: dict[str, int]

    def json(self, side: str, path: str) -> dict[str, Any]:
        found: dict[str, Any] = self.sweeps[side].project.json(path)
        return found


@pytest.fixture(scope="module")
def both(new_sweep: Callable[[str], Any]) -> Both:
    sweeps = {side: new_sweep(side) for side in SIDES}
    for side, sweep in sweeps.items():
        share_nodes(sweep)
        for node, name in zip(("ssnode7", "ssnode8"), RECIPES, strict=True):
            write(sweep, name, RECIPES[name], node=node, ttft=TTFT[side])
    started = {side: sweep.start() for side, sweep in sweeps.items()}
    outputs = {side: process.communicate(timeout=240)[0] for side, process in started.items()}
    return Both(sweeps, outputs, {side: process.returncode for side, process in started.items()})


def test_both_sweeps_are_measured(both: Both) -> None:
    for side, sweep in both.sweeps.items():
        said = both.outputs[side] + "".join(sweep.log(name) for name in RECIPES)
        assert both.codes[side] == 0, said
        for name in RECIPES:
            result = sweep.project.json(f"{name}/points/c1/result.json")
            assert (result["valid"], result["requests"]["completed"]) == (True, 6)


@pytest.mark.parametrize("name", RECIPES)
def test_their_jobs_were_on_one_node_at_one_time(both: Both, name: str) -> None:
    allocations = [both.json(side, f"{name}/allocation.json") for side in SIDES]
    (host,) = {host["host"] for allocation in allocations for host in allocation["hosts"]}
    rows = []
    for allocation in allocations:
        words = ["sacct", "-X", "-n", "-P", "-j", allocation["job_id"], "-o", "NodeList,Start,End"]
        rows.append(
            subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip().split("|")
        )
    assert [row[0] for row in rows] == [host, host]
    # Times of one form, so that texts compare as times do.
    assert max(start for _, start, _ in rows) < min(end for _, _, end in rows)


@pytest.mark.parametrize("name", RECIPES)
def test_they_had_no_port_in_common(both: Both, name: str) -> None:
    windows, ports = [], []
    for side in SIDES:
        (host,) = both.json(side, f"{name}/allocation.json")["hosts"]
        windows.append(host["window"])
        deployment = both.json(side, f"{name}/deployment.json")
        words = [" ".join(step["command"]["argv"]) for step in deployment["steps"]]
        words += [f"{k}-port={v}" for s in deployment["steps"] for k, v in s["command"]["env"].items()]
        asked = [step["probe"]["port"] for step in deployment["steps"] if step["probe"]]
        ports.append({int(port) for text in words for port in PORT.findall(text)} | set(asked))
    # Four of the node's eight GPUs each.
    assert sorted(windows) == [0, 4]
    assert all(len(found) >= 4 for found in ports)
    assert not ports[0] & ports[1]
    first = windows.index(0)
    assert both.json(SIDES[first], f"{name}/deployment.json")["public"]["port"] == 8000


@pytest.mark.parametrize("name", RECIPES)
def test_the_run_says_where_its_ports_are(both: Both, name: str) -> None:
    for sweep in both.sweeps.values():
        (host,) = sweep.project.json(f"{name}/allocation.json")["hosts"]
        told = f"{host['host']} may carry other jobs: there 8000 is " in sweep.log(name)
        assert told is (host["window"] > 0)


def test_each_measured_its_own_server(both: Both) -> None:
    for side in SIDES:
        metrics = both.json(side, "router/points/c1/result.json")["metrics"]
        # The slower one's time is a bound for both: of the one from above, of the other from below.
        assert (metrics["median_ttft_ms"] >= TTFT["right"]) is (side == "right")


def test_neither_took_the_other_for_its_own_earlier_run(both: Both) -> None:
    for sweep in both.sweeps.values():
        assert not any("earlier controller" in sweep.log(name) for name in RECIPES)
        assert len(sweep.submitted(both.outputs["left"])) == len(RECIPES)


def test_nothing_of_either_is_left(both: Both, cluster: Any) -> None:
    for sweep in both.sweeps.values():
        cluster.nothing_is_left(sweep.project.root)


def test_ctrl_c_and_scancel_of_one_leave_the_others_alone(
    new_sweep: Callable[[str], Any], cluster: Any
) -> None:
    """Three sweeps of the same recipe on one node: one is interrupted, one loses its job, one goes on."""
    sweeps = {name: new_sweep(name) for name in ("interrupted", "cancelled", "survivor")}
    for sweep in sweeps.values():
        share_nodes(sweep)
        write(sweep, "same", WAITING, node="ssnode7", gpus=2)
        sweep.start()
    for sweep in sweeps.values():
        began = sweep.project.root / "config/began"
        sweep.wait_until(began.exists, 200, "the middle of the point")
    allocations = [sweep.project.json("same/allocation.json") for sweep in sweeps.values()]
    hosts = [allocation["hosts"][0] for allocation in allocations]
    assert [host["host"] for host in hosts] == ["ssnode7"] * 3
    assert sorted(host["window"] for host in hosts) == [0, 2, 4]
    jobs = {name: int(told["job_id"]) for name, told in zip(sweeps, allocations, strict=True)}
    survivor = sweeps["survivor"]

    os.killpg(sweeps["interrupted"].started[-1].pid, signal.SIGINT)
    cluster.cancel(jobs["cancelled"])
    for name in ("interrupted", "cancelled"):
        cluster.wait_gone(jobs[name], 100)
        root = sweeps[name].project.root
        cluster.wait_until(lambda d=root: not cluster.left_of(d), 60, f"the end of {name}")
    (survivor.project.root / "config/end").touch()
    out = survivor.started[-1].communicate(timeout=200)[0]
    assert survivor.started[-1].returncode == 0, out + survivor.log("same")
    assert survivor.submitted(out) == [jobs["survivor"]]
    assert survivor.project.json("same/points/custom/result.json")["valid"] is True
    assert survivor.project.json("same/run.json")["job_id"] == str(jobs["survivor"])
    cluster.nothing_is_left(survivor.project.root)
