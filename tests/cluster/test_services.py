"""A job of services alone on real nodes: a real Ray cluster over a pool of two, and work that it does."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Each task says on which node it ran; nothing but both nodes can hold two pieces that exclude each other.
TASK = """
import json, sys
import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

ray.init(address=sys.argv[1] if len(sys.argv) > 1 else "auto")
both = placement_group([{"CPU": 1, "GPU": 2}] * 2, strategy="STRICT_SPREAD")
ray.get(both.ready())

@ray.remote(num_cpus=1, num_gpus=2)
def where():
    return ray.util.get_node_ip_address()

spots = [PlacementGroupSchedulingStrategy(both, placement_group_bundle_index=at) for at in (0, 1)]
found = sorted(ray.get([where.options(scheduling_strategy=spot).remote() for spot in spots]))
print("RAY", json.dumps({"nodes": found, "gpus": ray.cluster_resources()["GPU"]}), flush=True)
"""
POOL = {"name": "ray", "type": "ray", "nodes": 2}
SUBMIT = (
    "ray job submit --address http://${{SRT_SERVICE_RAY_IPS%%,*}}:8265 -- python3 {task}"
    ' && echo "{{\\"nodes\\": $SRT_SERVICE_RAY_NODE_COUNT}}" > "$SERVESWEEP_METRICS"'
)
ADDRESS = {f"ssnode{i}": f"10.78.0.{i}" for i in range(1, 9)}


@pytest.fixture
def alone(sweep: Any) -> Callable[..., None]:
    """Write a recipe of services alone, with a program beside it that asks Ray for both nodes."""
    from tests.conftest import require

    require("ray", importlib.util.find_spec("ray") is not None, "uv pip install -c pins.txt -e '.[ray]'")
    sweep.project.write("task.py", TASK)

    def write(name: str, *services: dict[str, Any], benchmark: dict[str, Any]) -> None:
        recipe = {
            "schema": 2,
            "name": name,
            "model": {"path": "tiny", "precision": "fp16"},
            "frontend": {"type": "none"},
            "slurm": {"time_limit": "00:15:00"},
            "benchmark": benchmark,
            "services": [POOL, *services],
        }
        # JSON is YAML.
        sweep.project.write(f"config/recipes/{name}.yaml", json.dumps(recipe, indent=1))

    return write


def ray_said(text: str) -> dict[str, Any]:
    (line,) = [line for line in text.splitlines() if line.startswith("RAY ")]
    found: dict[str, Any] = json.loads(line.removeprefix("RAY "))
    return found


def test_a_job_is_submitted_to_a_ray_cluster_over_two_nodes(sweep: Any, cluster: Any, alone: Any) -> None:
    task = sweep.project.root / "task.py"
    alone("pool", benchmark={"type": "custom", "command": SUBMIT.format(task=task)})
    done = sweep.run()
    assert done.returncode == 0, done.stdout + sweep.log("pool")
    run = sweep.project.json("pool/run.json")
    hosts = [node["host"] for node in run["nodes"]]
    log = (sweep.project.root / "results/pool/logs/benchmark_custom.log").read_text()
    assert ray_said(log) == {"nodes": sorted(ADDRESS[host] for host in hosts), "gpus": 16.0}
    assert sweep.project.json("pool/points/custom/result.json")["metrics"] == {"nodes": 2}

    steps = cluster.accounting(int(run["job_id"]))
    assert {name: steps[name]["NodeList"] for name in ("ray_n0", "ray_n1")} == {
        "ray_n0": hosts[0],
        "ray_n1": hosts[1],
    }
    logs = {Path(name).name for name in sweep.project.files("pool/logs/service_*")}
    assert logs == {f"service_ray_{host}.out" for host in hosts}
    story = sweep.log("pool")
    order = ["started ray_n0", "ray_n0 is ready", "started ray_n1", "ray_n1 is ready", "gate is open"]
    at = [story.index(words) for words in order]
    assert at == sorted(at)
    cluster.nothing_is_left(sweep.project.root)


def test_the_job_ends_when_its_driver_has_ended(sweep: Any, cluster: Any, alone: Any) -> None:
    task = sweep.project.root / "task.py"
    driver = {
        "name": "driver",
        "command": ["python3", str(task), "{head_ip}:6379"],
        "placement": {"node": "head"},
        "terminal": True,
    }
    alone("training", driver, benchmark={"type": "manual"})
    done = sweep.run()
    assert done.returncode == 0, done.stdout + sweep.log("training")
    log = (sweep.project.root / "results/training/logs/service_driver.out").read_text()
    assert len(ray_said(log)["nodes"]) == 2
    assert sweep.project.json("training/run.json")["points"] == ["manual"]
    cluster.nothing_is_left(sweep.project.root)


def test_a_lost_member_ends_the_run_and_is_named(sweep: Any, cluster: Any, alone: Any) -> None:
    alone("pool", benchmark={"type": "custom", "command": "exec sleep 600"})
    process = sweep.start()
    sweep.wait_until(lambda: "gate is open" in sweep.log("pool"), 300, "a running pool")
    second = sweep.project.json("pool/allocation.json")["hosts"][1]["host"]
    (raylet,) = [
        pid for pid, command in cluster.processes(second) if command.split(" ")[0].endswith("/raylet")
    ]
    os.kill(raylet, signal.SIGKILL)
    output, _ = process.communicate(timeout=240)
    assert process.returncode != 0, output
    failure = sweep.project.json("pool/failure.json")
    assert failure["message"].startswith(f"service ray_n1 on {second} exited with code ")
    assert failure["log"] == f"logs/service_ray_{second}.out"
    assert not sweep.project.exists("pool/run.json")
    cluster.nothing_is_left(sweep.project.root)
