"""Several frontends behind a real nginx, and components on the nodes where recipes place them."""

from __future__ import annotations

import re
from typing import Any

import pytest

# Asks nginx as sessions do, and the routers themselves how many requests each of them has had.
ASKING = """
import http.client, json, os, re, time, urllib.request
deployment = json.load(open("results/sessions/deployment.json"))["deployment"]
routers = [deployment["binding"]["addresses"][one["node"]] for one in deployment["frontends"]]

def counts():
    found = []
    for router in routers:
        text = urllib.request.urlopen(f"http://{router}:29000/metrics").read().decode()
        number = re.findall(r'^smg_http_requests_total{[^}]*/v1/completions"} (\\d+)', text, re.M)
        found.append(int(number[0]) if number else 0)
    return found

def ask(connection, session=None):
    body = json.dumps({"model": "tiny", "prompt": "a b", "max_tokens": 2})
    headers = {"Content-Type": "application/json", **({"X-Session": session} if session else {})}
    connection.request("POST", "/v1/completions", body, headers)
    answer = connection.getresponse()
    assert answer.status == 200 and json.loads(answer.read())["usage"]["completion_tokens"] == 2
    return connection.sock and connection.sock.getsockname()[1]

def had(send):
    before = counts()
    send()
    time.sleep(0.5)
    return [after - earlier for earlier, after in zip(before, counts())]

server = http.client.HTTPConnection(os.environ["SRT_FRONTEND_HOST"], int(os.environ["SRT_FRONTEND_PORT"]))
ports = set()
alone = had(lambda: [ports.add(ask(server)) for _ in range(40)])
one = had(lambda: [ask(server, "alice") for _ in range(12)])
many = had(lambda: [ask(server, f"session-{i}") for i in range(40)])
time.sleep(2)
ports.add(ask(server))
told = {"connections": len(ports)}
for name, numbers in (("without", alone), ("one", one), ("many", many)):
    told |= {f"{name}_{i}": number for i, number in enumerate(numbers)}
json.dump(told, open(os.environ["SERVESWEEP_METRICS"], "w"))
"""
SIMULATED = """
schema: 2
model: {path: tiny, precision: fp16}
engine: simulator
resources: {gpus_per_node: 8}
slurm: {time_limit: "00:10:00"}
health_check: {max_attempts: 60, interval_seconds: 1}
"""
LOAD = "{type: sa-bench, isl: 32, osl: 16, concurrencies: '4', num_prompts_mult: 4, placement: {node: %s}}"
RECIPES = {
    "sessions": SIMULATED
    + """
name: sessions
roles: {agg: {nodes: 3, workers: 3, gpus: 8}}
frontend:
  type: sglang-router
  enable_multiple_frontends: true
  nginx_session_affinity: true
  nginx_session_affinity_header: X-Session
benchmark: {type: custom, command: python3 config/asking.py}
""",
    "dynamo-frontends": SIMULATED.replace("simulator", "mocker")
    + f"""
name: dynamo-frontends
roles: {{prefill: {{nodes: 1}}, decode: {{nodes: 2, workers: 2}}}}
frontend: {{enable_multiple_frontends: true, num_additional_frontends: 1}}
benchmark: {LOAD % "head"}
""",
    "at-decode": SIMULATED
    + f"""
name: at-decode
roles: {{prefill: {{nodes: 1, gpus: 8}}, decode: {{nodes: 2, workers: 2, gpus: 8}}}}
frontend: {{type: sglang-router, placement: {{node: first_decode}}}}
benchmark: {LOAD % "last_decode"}
""",
    "dedicated": SIMULATED
    + f"""
name: dedicated
roles: {{agg: {{nodes: 1, gpus: 8}}}}
frontend: {{type: sglang-router, placement: {{node: dedicated}}}}
benchmark: {LOAD % "dedicated"}
""",
}
# Configuration to its steps; the node of each is its place among the nodes of the job.
STEPS = {
    "sessions": {**{f"agg_{i}": i for i in range(3)}, "nginx": 0, "frontend_0": 1, "frontend_1": 2},
    "dynamo-frontends": {
        **{"etcd": 0, "prefill_0": 0, "decode_0": 1, "decode_1": 2},
        **{"nginx": 0, "frontend_0": 1, "frontend_1": 2},
    },
    "at-decode": {"prefill_0": 0, "decode_0": 1, "decode_1": 2, "frontend_0": 1, "benchmark_c4": 2},
    "dedicated": {"frontend_0": 0, "agg_0": 1, "benchmark_c4": 2},
}


@pytest.fixture(scope="module")
def ran(new_sweep: Any, cluster: Any) -> Any:
    sweep = new_sweep("places")
    sweep.project.write("config/asking.py", ASKING)
    for name, text in RECIPES.items():
        sweep.project.write(f"config/recipes/{name}.yaml", text)
    done = sweep.run()
    assert done.returncode == 0, done.stdout + "".join(sweep.log(name) for name in RECIPES)
    return sweep


def hosts(ran: Any, name: str) -> list[str]:
    return [node["host"] for node in ran.project.json(f"{name}/run.json")["nodes"]]


def addresses(ran: Any, name: str) -> list[str]:
    return [node["address"] for node in ran.project.json(f"{name}/run.json")["nodes"]]


@pytest.mark.parametrize("name", STEPS)
def test_every_step_runs_where_it_is_placed(ran: Any, cluster: Any, name: str) -> None:
    rows = cluster.accounting(int(ran.project.json(f"{name}/run.json")["job_id"]))
    found = {step: rows[step]["NodeList"] for step in STEPS[name]}
    assert found == {step: hosts(ran, name)[place] for step, place in STEPS[name].items()}
    assert len(hosts(ran, name)) == 3


def test_every_frontend_behind_nginx_is_asked_before_anything_is_measured(ran: Any) -> None:
    """With all workers known to one of them alone, nginx would still spread requests over both."""
    for name in ("sessions", "dynamo-frontends"):
        nginx = (ran.project.root / f"results/{name}/logs/nginx.conf").read_text()
        servers = re.findall(r"server (\S+);", nginx)
        assert servers == [f"{address}:8180" for address in addresses(ran, name)[1:]]
        deployment = ran.project.json(f"{name}/deployment.json")
        assert deployment["public"] == {"node": "n0", "port": 8000}
        assert ran.project.json(f"{name}/health.json")["request"]["completion_tokens"] > 0


def test_without_a_session_requests_go_to_every_frontend(ran: Any) -> None:
    told = ran.project.json("sessions/points/custom/result.json")["metrics"]
    assert told["without_0"] + told["without_1"] == 40
    # Each one's chance to get fewer than 6 of 40 is less than one in a million.
    assert min(told["without_0"], told["without_1"]) >= 6


def test_a_session_stays_with_its_frontend_and_sessions_are_spread(ran: Any) -> None:
    told = ran.project.json("sessions/points/custom/result.json")["metrics"]
    assert sorted((told["one_0"], told["one_1"])) == [0, 12]
    assert told["many_0"] + told["many_1"] == 40
    assert min(told["many_0"], told["many_1"]) >= 6


def test_nginx_keeps_a_client_s_connection(ran: Any) -> None:
    assert ran.project.json("sessions/points/custom/result.json")["metrics"]["connections"] == 1


def test_dynamo_s_frontends_serve_a_disaggregated_deployment_through_nginx(ran: Any) -> None:
    result = ran.project.json("dynamo-frontends/points/c4/result.json")
    assert (result["valid"], result["requests"]["completed"]) == (True, 16)


@pytest.mark.parametrize(("name", "place"), [("at-decode", 1), ("dedicated", 0)])
def test_the_client_reaches_the_public_api_by_its_address(ran: Any, name: str, place: int) -> None:
    result = ran.project.json(f"{name}/points/c4/result.json")
    assert result["valid"] is True
    spec = "".join(
        (ran.project.root / "results" / path).read_text()
        for path in ran.project.files(f"{name}/points/c4/*.json")
    )
    assert f"http://{addresses(ran, name)[place]}:8000" in spec
    assert "localhost" not in spec


def test_nothing_is_left_on_any_node(ran: Any, cluster: Any) -> None:
    cluster.nothing_is_left(ran.project.root)
    for name in STEPS:
        job = ran.project.json(f"{name}/run.json")["job_id"]
        for node in hosts(ran, name):
            assert cluster.execute(node, "bash", "-c", f"ls -d /tmp/servesweep-job-{job} || true") == ""
