"""Replicas on real nodes: over several nodes, several behind SGLang's router, and each in its OpenTela.

Slurm, Ray, its GPUs as resources, and the router are real. Three programs are not installed here, and
stand-ins take their place: `sglang.launch_server`, whose ranks meet at --dist-init-addr before the first one
serves; `vllm`, which joins the Ray cluster and holds all of its GPUs before it serves; and OpenTela's
`otela`, which opens its three ports and runs its --subprocess by a shell. All serve by the simulator.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
from typing import Any

import pytest
import yaml
from tests.conftest import require

pytestmark = pytest.mark.long

# Ranks that do not meet, or a rank that goes, is the end of all: as with SGLang's own group.
SGLANG = """
import argparse, os, socket, subprocess, sys, threading

known = argparse.ArgumentParser(allow_abbrev=False)
known.add_argument("--dist-init-addr"); known.add_argument("--node-rank", type=int, default=0)
known.add_argument("--nnodes", type=int, default=1)
told, words = known.parse_known_args()
host, port = told.dist_init_addr.rsplit(":", 1)
if told.node_rank:
    while True:
        try:
            group = socket.create_connection((host, int(port)), timeout=5)
            break
        except OSError:
            threading.Event().wait(0.2)
    group.settimeout(None)
    group.sendall(b"%d" % told.node_rank)
    print("rank", told.node_rank, "of", told.nnodes, "on", socket.gethostname(), flush=True)
    group.recv(1)
    sys.exit("rank 0 is gone")
door = socket.create_server((host, int(port)))
ranks = [door.accept()[0] for _ in range(told.nnodes - 1)]
met = sorted(int(rank.recv(8)) for rank in ranks)
print("rank 0 of", told.nnodes, "on", socket.gethostname(), "met", met, flush=True)
sys.exit(subprocess.call([sys.executable, "-m", "servesweep.simulator", *words]))
"""
# What vLLM's executor asks of Ray: a bundle for each GPU of the product of both degrees, and all at once.
VLLM = """#!/usr/bin/env python3
import argparse, json, os, socket, subprocess, sys
import ray
from ray.util.placement_group import placement_group, placement_group_table

known = argparse.ArgumentParser(allow_abbrev=False)
known.add_argument("serve"); known.add_argument("model")
known.add_argument("--tensor-parallel-size", type=int, default=1)
known.add_argument("--pipeline-parallel-size", type=int, default=1)
known.add_argument("--distributed-executor-backend", choices=["ray"], required=True)
told, words = known.parse_known_args()
ray.init()
gpus = told.tensor_parallel_size * told.pipeline_parallel_size
held = placement_group([{"GPU": 1}] * gpus, strategy="PACK")
ray.get(held.ready(), timeout=60)
addresses = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes()}
where = placement_group_table(held)["bundles_to_node_id"].values()
count = {address: sum(addresses[one] == address for one in where) for address in sorted(addresses.values())}
print("RAY", json.dumps({"nodes": count, "address": ray.get_runtime_context().gcs_address}), flush=True)
model = ["--model-path", told.model, "--host", "0.0.0.0"]
sys.exit(subprocess.call([sys.executable, "-m", "servesweep.simulator", *model, *words]))
"""
OTELA = """#!/usr/bin/env python3
import json, socket, subprocess, sys

doors = [socket.create_server(("", port)) for port in (8092, 8093, 43905)]
words = sys.argv[2:]
print("OTELA", json.dumps({"words": words, "host": socket.gethostname()}), flush=True)
sys.exit(subprocess.call(["sh", "-c", words[words.index("--subprocess") + 1]]))
"""
# A name of the model that no shell may read.
ODD = """tiny "quoted" $(hostname) `id` 'x' {"a": 1}; exit 7"""
# Each head at the one port that all have, and the router at its own.
ASKING = """
import json, os, re, urllib.request

def get(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    return urllib.request.urlopen(asked, timeout=10).read().decode()

def completions(base, count):
    for number in range(count):
        body = {"model": os.environ["SERVESWEEP_MODEL"], "prompt": f"question {number}", "max_tokens": 2}
        assert json.loads(get(f"{base}/v1/completions", body))["usage"]["completion_tokens"] == 2

def answered(head):
    text = get(f"http://{head}:8080/metrics")
    return int(float(re.search(r"^simulator_requests_success_total.* (\\d+)$", text, re.M)[1]))

heads = os.environ["SRT_AGG_IPS"].split(",")
told = {"heads": len(heads)}
for head in heads:
    served = json.loads(get(f"http://{head}:8080/v1/models"))["data"]
    assert [one["id"] for one in served] == [os.environ["SERVESWEEP_MODEL"]]
    completions(f"http://{head}:8080", 1)
before = [answered(head) for head in heads]
if router := os.environ.get("SRT_FRONTEND_HOST"):
    assert os.environ["SRT_FRONTEND_PORT"] == "30000"
    completions(f"http://{router}:30000", 20)
after = [answered(head) for head in heads]
told |= {f"replica_{at}": late - early for at, (late, early) in enumerate(zip(after, before))}
json.dump(told, open(os.environ["SERVESWEEP_METRICS"], "w"))
"""
HEAD = """\
schema: 2
name: {name}
model: {{path: tiny, precision: fp16}}
environment: {{PYTHONPATH: {programs}}}
slurm: {{time_limit: "00:10:00"}}
health_check: {{max_attempts: 240, interval_seconds: 1}}
"""
LOAD = "benchmark: {type: sa-bench, isl: 32, osl: 8, concurrencies: '2', num_prompts_mult: 10}\n"
ASK = "benchmark: {type: custom, command: python3 config/asking.py}\n"
RECIPES = {
    "sglang": """\
engine: sglang
replicas: 1
nodes_per_replica: 2
framework_args: --ttft-ms 20 --itl-ms 2
router: sglang
"""
    + LOAD,
    "vllm": """\
engine: vllm
replicas: 1
nodes_per_replica: 2
framework_args: >-
  config/models/tiny --tensor-parallel-size 8 --pipeline-parallel-size 2 --ttft-ms 20 --itl-ms 2
"""
    + LOAD,
    "routed": """\
engine: simulator
replicas: 2
framework_args: --ttft-ms 20 --itl-ms 2
router: sglang
router_args: --policy round_robin
"""
    + ASK,
    "mesh": f"""\
engine: simulator
replicas: 2
framework_args: {json.dumps("--served-model-name " + shlex.quote(ODD))}
router: opentela
"""
    + ASK,
}
GPUS = 8


def run(sweep: Any, *names: str) -> Any:
    """Sweep the recipes in a project whose programs are the stand-ins."""
    programs = sweep.project.root / "programs"
    sweep.project.write("programs/sglang/launch_server.py", SGLANG)
    for name, text in {"vllm": VLLM, "otela": OTELA}.items():
        sweep.project.write(f"programs/{name}", text).chmod(0o755)
    sweep.on_path(programs)
    site = sweep.project.root / "config/cluster.yaml"
    site.write_text(f"{site.read_text()}\notela_binary: {programs}/otela\notela_bootstrap: /ip4/10.78.0.1\n")
    sweep.project.write("config/asking.py", ASKING)
    for name in names:
        head = HEAD.format(name=name, programs=programs)
        sweep.project.write(f"config/recipes/{name}.yaml", head + RECIPES[name])
    done = sweep.run()
    assert done.returncode == 0, done.stdout + "".join(map(sweep.log, names))
    return sweep


@pytest.fixture(scope="module")
def ran(new_sweep: Any, cluster: Any) -> Any:
    return run(new_sweep("replicas"), "sglang", "routed", "mesh")


@pytest.fixture(scope="module")
def by_ray(new_sweep: Any, cluster: Any) -> Any:
    require("ray", importlib.util.find_spec("ray") is not None, "uv pip install -c pins.txt -e '.[ray]'")
    return run(new_sweep("ray"), "vllm")


def addresses(ran: Any, name: str) -> list[str]:
    return [node["address"] for node in ran.project.json(f"{name}/run.json")["nodes"]]


def hosts(ran: Any, name: str) -> list[str]:
    return [node["host"] for node in ran.project.json(f"{name}/run.json")["nodes"]]


def log(ran: Any, name: str, replica: int, rank: int = 0, size: int = 1) -> str:
    host = hosts(ran, name)[replica * size + rank]
    text: str = (ran.project.root / f"results/{name}/logs/{host}_agg_w{replica}.out").read_text()
    return text


def test_a_replica_over_two_nodes_is_measured_at_its_head(ran: Any) -> None:
    is_measured_at_its_head(ran, "sglang")


def is_measured_at_its_head(ran: Any, name: str) -> None:
    result = ran.project.json(f"{name}/points/c2/result.json")
    assert (result["valid"], result["requests"]["completed"]) == (True, 20)
    assert ran.project.json(f"{name}/deployment.json")["public"] == {"node": "n0", "port": 8080}
    assert len(set(hosts(ran, name))) == 2


def test_sglang_s_ranks_meet_at_dist_init_addr(ran: Any) -> None:
    first, second = hosts(ran, "sglang")
    assert f"rank 0 of 2 on {first} met [1]" in log(ran, "sglang", 0)
    assert f"rank 1 of 2 on {second}" in log(ran, "sglang", 0, rank=1, size=2)


def test_a_router_over_one_replica_is_left_out_and_the_lockfile_says_so(ran: Any) -> None:
    assert not any("frontend" in step["name"] for step in ran.project.json("sglang/deployment.json")["steps"])
    lock = yaml.safe_load((ran.project.root / "results/sglang/recipe.lock.yaml").read_text())["lock"]
    assert lock["notes"] == [
        "router: sglang is left out: one replica has nothing to balance, and is served directly"
    ]


def test_the_router_balances_over_replicas_that_each_answer_at_port_8080(ran: Any) -> None:
    deployment = ran.project.json("routed/deployment.json")
    assert deployment["public"] == {"node": "n0", "port": 30000}
    (router,) = [step for step in deployment["steps"] if step["kind"] == "frontend"]
    words = " ".join(router["command"]["argv"])
    assert "sglang_router.launch_router" in words
    urls = " ".join(f"http://{address}:8080" for address in addresses(ran, "routed"))
    assert f"--worker-urls {urls} --host" in words
    told = ran.project.json("routed/points/custom/result.json")["metrics"]
    assert told == {"heads": 2, "replica_0": 10, "replica_1": 10}


def test_opentela_runs_each_head_whatever_its_words_hold(ran: Any) -> None:
    told = ran.project.json("mesh/points/custom/result.json")["metrics"]
    assert told == {"heads": 2, "replica_0": 0, "replica_1": 0}
    for replica, host in enumerate(hosts(ran, "mesh")):
        (line,) = [one for one in log(ran, "mesh", replica).splitlines() if one.startswith("OTELA ")]
        said = json.loads(line.removeprefix("OTELA "))
        assert said["host"] == host
        assert said["words"][:-1] == [
            "--bootstrap.addr", "/ip4/10.78.0.1", "--service.name", "llm", "--service.port", "8080",
            "--label", "framework=simulator", "--label", f"served_model_name={ODD}", "--subprocess",
        ]  # fmt: skip


def test_nobody_but_opentela_has_its_ports(ran: Any) -> None:
    """They are one set a host: what else of the job stands on a head keeps off them."""
    steps = ran.project.json("mesh/deployment.json")["steps"]
    words = [word for step in steps for word in step["command"]["argv"][:-1]]
    assert not {"8092", "8093", "43905"} & {number for word in words for number in re.findall(r"\d+", word)}


def test_nothing_is_left_on_any_node(ran: Any, cluster: Any) -> None:
    nothing_is_left(ran, cluster, "sglang", "routed", "mesh")


def nothing_is_left(ran: Any, cluster: Any, *names: str) -> None:
    cluster.nothing_is_left(ran.project.root)
    for name in names:
        job = ran.project.json(f"{name}/run.json")["job_id"]
        for node in hosts(ran, name):
            assert cluster.execute(node, "bash", "-c", f"ls -d /tmp/servesweep-job-{job} || true") == ""


def test_vllm_s_replica_is_a_real_ray_cluster_with_the_gpus_of_both_nodes(
    by_ray: Any,
) -> None:
    is_measured_at_its_head(by_ray, "vllm")
    (line,) = [line for line in log(by_ray, "vllm", 0).splitlines() if line.startswith("RAY ")]
    first, second = addresses(by_ray, "vllm")
    assert json.loads(line.removeprefix("RAY ")) == {
        "nodes": {first: GPUS, second: GPUS},
        "address": f"{first}:6379",
    }


def test_nothing_is_left_of_ray(by_ray: Any, cluster: Any) -> None:
    nothing_is_left(by_ray, cluster, "vllm")
