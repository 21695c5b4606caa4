"""The recipes of config/recipes/features on four real nodes, by the literal `snakemake --profile cluster`."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FEATURES = Path(__file__).resolve().parents[2] / "config/recipes/features"
# Configuration to its steps; the node of each is its place among the nodes of the job.
STEPS = {
    "dynamo-disagg": {
        **{"etcd": 0, "prefill_0": 0, "prefill_1": 0},
        **{"decode_0": 1, "decode_1": 2, "frontend_0": 0},
    },
    "sglang-router-disagg": {"prefill_0": 0, "decode_0": 1, "decode_1": 1, "frontend_0": 0},
    "vllm-router-agg": {"agg_0": 0, "agg_1": 0, "frontend_0": 0},
    "replicas": {"agg_0": 0, "agg_1": 1, "frontend_0": 0},
}
NODES = {name: 1 + max(steps.values()) for name, steps in STEPS.items()}
ADDRESS = {f"ssnode{i}": f"10.78.0.{i}" for i in range(1, 9)}


@dataclass
class Seen:
    """What was seen while the sweep ran, and afterwards."""

    sweep: Any
    output: str
    seconds: float
    jobs: dict[str, dict[str, Any]]
    healthy_replicas: set[str]
    served: dict[str, int]


@pytest.fixture(scope="module")
def seen(new_sweep: Any) -> Seen:
    """One sweep of the recipes for several nodes, watched from the login node."""
    sweep = new_sweep("features")
    for name in STEPS:
        shutil.copy(FEATURES / f"{name}.yaml", sweep.project.root / "config/recipes")
    # As on many a cluster: a web proxy that knows nothing of the compute nodes. Nobody listens on port 9.
    sweep.project.environment.update(http_proxy="http://10.78.0.254:9", HTTP_PROXY="http://10.78.0.254:9")
    seen = Seen(sweep, "", 0.0, {}, set(), {})
    began = time.monotonic()
    process = sweep.start()
    while process.poll() is None:
        watch(seen)
        if time.monotonic() - began > 240:
            sweep.end()
        time.sleep(0.5)
    seen.output, seen.seconds = process.communicate()[0], time.monotonic() - began
    assert process.returncode == 0, seen.output
    return seen


def watch(seen: Seen) -> None:
    """Note the jobs, the replicas that answer on port 8080, the requests each simulator has had."""
    seen.jobs |= {name: row for name, row in seen.sweep.jobs().items() if row["job_state"] == "RUNNING"}
    for name in STEPS:
        deployment = seen.sweep.project.root / f"results/{name}/deployment.json"
        if name in seen.jobs and name != "dynamo-disagg" and deployment.exists():
            for step in json.loads(deployment.read_text())["steps"]:
                if step["kind"] == "worker":
                    ask(seen, name, step)


def ask(seen: Seen, name: str, step: dict[str, Any]) -> None:
    host = next(
        host
        for host in seen.sweep.project.json(f"{name}/allocation.json")["hosts"]
        if host["name"] == step["node"]
    )
    url = f"http://{host['address']}:{step['probe']['port']}"
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=1):
            if name == "replicas" and step["probe"]["port"] == 8080:
                seen.healthy_replicas.add(host["host"])
        with urllib.request.urlopen(f"{url}/metrics", timeout=1) as answer:
            text = answer.read().decode()
    except OSError:
        return
    counts = re.findall(r"^simulator_requests_success_total\S* (\d+)", text, re.MULTILINE)
    key = f"{name}/{step['name']}"
    seen.served[key] = max([seen.served.get(key, 0), *map(int, counts)])


def hosts(seen: Seen, name: str) -> list[str]:
    return [node["host"] for node in seen.sweep.project.json(f"{name}/run.json")["nodes"]]


def job(seen: Seen, name: str) -> int:
    return int(seen.sweep.project.json(f"{name}/run.json")["job_id"])


@pytest.mark.parametrize("name", STEPS)
def test_every_point_is_valid_on_real_nodes(seen: Any, cluster: Any, name: str) -> None:
    run = seen.sweep.project.json(f"{name}/run.json")
    assert run["points"] == ["c1", "c4"]
    for point in run["points"]:
        assert seen.sweep.project.json(f"{name}/points/{point}/result.json")["valid"] is True
    assert len(run["nodes"]) == NODES[name]
    assert {node["host"]: node["address"] for node in run["nodes"]}.items() <= ADDRESS.items()


@pytest.mark.parametrize("name", STEPS)
def test_one_step_a_process_on_its_planned_node(seen: Any, cluster: Any, name: str) -> None:
    rows = cluster.accounting(job(seen, name))
    places = {step: rows[step]["NodeList"] for step in STEPS[name]}
    assert set(rows) - set(STEPS[name]) <= {"job", "batch", "extern"}
    assert places == {step: hosts(seen, name)[place] for step, place in STEPS[name].items()}
    logs = {Path(log).name for log in seen.sweep.project.files(f"{name}/logs/ssnode*.out")}
    workers = {step: place for step, place in places.items() if re.match("prefill|decode|agg", step)}
    assert {f"{place}_{step.replace('_', '_w')}.out" for step, place in workers.items()} <= logs


@pytest.mark.parametrize("name", STEPS)
def test_the_supervisor_runs_in_the_batch_step_on_the_first_node(seen: Any, cluster: Any, name: str) -> None:
    allocation = seen.sweep.project.json(f"{name}/allocation.json")
    assert allocation["supervisor_host"] == hosts(seen, name)[0]
    rows = cluster.accounting(job(seen, name))
    assert rows["batch"]["NodeList"] == hosts(seen, name)[0]
    assert rows["batch"]["State"] == "COMPLETED"


@pytest.mark.parametrize("name", STEPS)
def test_slurm_was_asked_for_what_the_plan_says(seen: Any, cluster: Any, name: str) -> None:
    row = cluster.accounting(job(seen, name))["job"]
    assert (row["TimelimitRaw"], row["Account"]) == ("20", "lab")
    held = dict(pair.split("=") for pair in row["AllocTRES"].split(","))
    assert (held["node"], held["gres/gpu"]) == (str(NODES[name]), str(8 * NODES[name]))
    planned = seen.sweep.project.json(f"{name}/plan.json")["slurm"]
    assert (planned["nodes"], planned["slurm_extra"]) == (NODES[name], "--gpus-per-node=8 --exclusive")
    queued = seen.jobs[name]
    assert (queued["partition"], queued["node_count"]) == ("batch", NODES[name])


def test_each_replica_answers_on_port_8080_of_its_own_head(seen: Any) -> None:
    assert seen.healthy_replicas == set(hosts(seen, "replicas"))


def test_traffic_reaches_every_simulator(seen: Any) -> None:
    workers = {
        f"{name}/{step}"
        for name, steps in STEPS.items()
        for step in steps
        if name != "dynamo-disagg" and not step.startswith("frontend")
    }
    assert {worker for worker, requests in seen.served.items() if requests > 0} == workers


def test_workers_register_with_their_nodes_own_addresses(seen: Any) -> None:
    """Mockers on three nodes were found and used, and none was told another node's address."""
    deployment = seen.sweep.project.json("dynamo-disagg/deployment.json")
    addresses = deployment["deployment"]["binding"]["addresses"]
    assert list(addresses.values()) == [ADDRESS[host] for host in hosts(seen, "dynamo-disagg")]
    assert "127.0.0.1" not in json.dumps(deployment["steps"])
    health = seen.sweep.project.json("dynamo-disagg/health.json")
    assert health["workers"] == ["decode_0", "decode_1", "prefill_0", "prefill_1"]


def test_a_node_that_takes_itself_for_127_0_1_1_has_an_address_for_the_others(cluster: Any) -> None:
    script = "from servesweep.runtime.allocation import _own_address; print(_own_address('10.78.0.1'))"
    assert cluster.execute("ssnode3", sys.executable, "-c", script).strip() == "10.78.0.3"


@pytest.mark.parametrize("name", STEPS)
def test_workers_are_asked_to_end_before_they_are_made_to(seen: Any, cluster: Any, name: str) -> None:
    """Exit code 0, or the SIGTERM that a program raises again for itself; never SIGKILL."""
    rows = cluster.accounting(job(seen, name))
    assert {rows[step]["ExitCode"] for step in STEPS[name]} <= {"0:0", "0:15"}
    assert rows["job"]["State"] == "COMPLETED"


@pytest.mark.parametrize("name", STEPS)
def test_the_lockfile_tells_job_and_nodes(seen: Any, name: str) -> None:
    text = (seen.sweep.project.root / f"results/{name}/recipe.lock.yaml").read_text()
    assert re.search(rf"job_id: ['\"]?{job(seen, name)}\b", text)
    assert f"nodelist: {','.join(hosts(seen, name))}" in text


def test_nothing_is_left_on_any_node(seen: Any, cluster: Any) -> None:
    cluster.nothing_is_left(seen.sweep.project.root)
    jobs = [job(seen, name) for name in STEPS]
    assert not [path for number in jobs if (path := Path(f"/tmp/servesweep-job-{number}")).exists()]


def test_the_second_time_there_is_nothing_to_be_done(seen: Any) -> None:
    before = seen.sweep.results()
    done = seen.sweep.run()
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout
    assert seen.sweep.results() == before
