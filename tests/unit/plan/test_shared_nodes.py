"""A plan on nodes that other jobs share: every port that it names has moved, and all that name it agree."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.plan import Plan, plan_text, read_plan
from servesweep.plan.recipe_files import find_recipes
from servesweep.plan.render import rebind
from servesweep.plan.sweep import read_sweep
from servesweep.topology import ports
from servesweep.topology.deployment import Binding
from servesweep.topology.ports import PortBlock
from servesweep.topology.windows import within

ROOT = Path(__file__).resolve().parents[3]
SERVICES = """\
services:
- {name: etcd, type: etcd, readiness: {tcp: 2379}}
- {name: nats, type: nats}
- {name: mooncake-master, type: mooncake-master}
- {name: store, type: mooncake-store, env: {RPC: "{head_ip}:{master_port}"}}
- {name: caches, type: lmcache-server}
- {name: node-exporter, type: node-exporter}
- {name: process-exporter, type: process-exporter}
- {name: dcgm-exporter, type: dcgm-exporter}
- {name: train, type: ray, nodes: 2}
"""
RECIPES = {
    "dynamo-vllm": "engine: {type: vllm, connector: kvbm}\nroles: {agg: {nodes: 2, workers: 4}}\n",
    "lmcache": "engine: {type: vllm, connector: lmcache-mp}\nroles: {agg: {nodes: 2, workers: 4}}\n",
    "data-parallel": (
        "engine: vllm\nroles: {agg: {nodes: 2, workers: 1, gpus: 16, args: {data-parallel-size: 16}}}\n"
    ),
    "sidecars": (
        "engine: sglang\nroles: {prefill: {nodes: 1, workers: 2, sidecar: true},"
        " decode: {nodes: 2, workers: 1, sidecar: true}}\n"
    ),
    "sglang-router": (
        "engine: sglang\nfrontend: {type: sglang-router, enable_multiple_frontends: true}\n"
        "roles: {prefill: {nodes: 2, workers: 1}, decode: {nodes: 2, workers: 4}}\n"
    ),
    "vllm-router": (
        "engine: vllm\nfrontend: {type: vllm-router}\n"
        "roles: {prefill: {nodes: 1, workers: 2}, decode: {nodes: 1, workers: 2}}\n"
    ),
    "one-server": "engine: vllm\nfrontend: {type: vllm}\nroles: {agg: {nodes: 1}}\n",
    "trtllm": "engine: trtllm\nfrontend: {type: trtllm_serve}\nroles: {agg: {nodes: 1}}\n",
    "atom": (
        "engine: atom\nfrontend: {type: atomesh}\nroles: {prefill: {nodes: 1, workers: 2, gpus: 4},"
        " decode: {nodes: 1, workers: 2, gpus: 4}}\n"
    ),
    "tokenspeed": "engine: tokenspeed\nroles: {agg: {nodes: 2, workers: 2}}\n",
    "services": "engine: mocker\nroles: {agg: {nodes: 2, workers: 4}}\n" + SERVICES,
}
NUMBER = re.compile(r"(?<![\w.])\d{4,5}(?![\w.])")


def table() -> set[int]:
    """Every number that the table of ports gives to one of the first eight of anything."""
    found = {port for port in vars(ports).values() if isinstance(port, int) and port != ports.HIGHEST}
    for block in vars(ports).values():
        if isinstance(block, PortBlock):
            found |= {block.base + block.stride * number for number in range(8)}
    return found


def bound(plan: Plan, windows: dict[str, int]) -> Plan:
    """As a run binds it: from its file."""
    with TemporaryDirectory() as directory:
        file = Path(directory, "plan.json")
        file.write_text(plan_text(plan))
        plan = read_plan(file)
    addresses = {node.name: f"10.0.0.{number}" for number, node in enumerate(plan.nodes, start=1)}
    return rebind(plan, Binding(addresses=addresses, logs="/logs", scratch="/scratch", windows=windows))


def told(plan: Plan) -> set[int]:
    """The numbers in all that processes are told, and by which they are asked, that may be ports."""
    steps = [
        asdict(replace(step, command=replace(step.command, files=dict(step.command.files))))
        for step in plan.steps
    ]
    kept = [
        (step["command"], step["probe"], step["readiness"] and step["readiness"]["probes"]) for step in steps
    ]
    public = asdict(plan.public) if plan.public else {}
    return {int(number) for number in NUMBER.findall(repr((kept, public)))}


@pytest.mark.parametrize("name", RECIPES)
def test_no_usual_port_is_named_on_a_shared_node(plan: Callable[..., Plan], name: str) -> None:
    found = plan(RECIPES[name])
    assert told(found) & table()
    moved = bound(found, {node.name: 3 for node in found.nodes})
    assert told(moved) & table() == set()


@pytest.mark.parametrize("name", RECIPES)
def test_as_many_numbers_stand_in_it_as_before(plan: Callable[..., Plan], name: str) -> None:
    """Two things that had different ports still have, and what had one port has one."""
    found = plan(RECIPES[name])
    usual, moved = (bound(found, dict.fromkeys((n.name for n in found.nodes), w)) for w in (0, 3))
    # Where each node counts its own processes, those of two nodes may have the same number.
    assert len(told(moved)) <= len(told(usual))
    assert len(moved.steps) == len(usual.steps)


def test_the_recipes_that_come_along_move_too() -> None:
    cluster = read_cluster(str(ROOT / "config/cluster.yaml"))
    plans = read_sweep(find_recipes(str(ROOT / "config/recipes")), cluster, ROOT / "config/recipes")
    assert len(plans) >= 7
    for plan in plans.values():
        if plan.resolved.replicas is None:
            moved = bound(plan, {node.name: 1 for node in plan.nodes})
            # One recipe's own command names Ray's dashboard.
            assert told(moved) & table() <= ({8265} if plan.name == "ray-job" else set())


def test_all_that_name_a_port_agree(plan: Callable[..., Plan]) -> None:
    """Of two nodes, each with a window of its own: router, URLs, bootstrap ports and probes."""
    moved = bound(plan(RECIPES["vllm-router"]), {"n1": 4})
    steps = {step.name: step for step in moved.steps}
    words = " ".join(steps["frontend_0"].command.argv)
    for worker in ("decode_0", "decode_1"):
        port = steps[worker].probe.port
        assert f"--port {port}" in " ".join(steps[worker].command.argv)
        assert f"--decode http://10.0.0.2:{port}" in words
    assert [steps[f"decode_{n}"].probe.port for n in (0, 1)] == [
        within(4, ports.WORKER_HTTP.base), within(4, ports.WORKER_HTTP.base) + 32,
    ]  # fmt: skip
    assert "--prefill http://10.0.0.1:6100 5400" in words
    assert (moved.public.node, moved.public.port) == ("n0", 8000)


@pytest.mark.parametrize("router", ["sglang-router", "vllm-router"])
def test_a_router_tells_its_metrics_elsewhere_and_on_its_own_node_where_it_likes(
    plan: Callable[..., Plan], router: str
) -> None:
    found = plan(RECIPES[router])
    words = [
        next(step for step in bound(found, windows).steps if step.name == "frontend_0").command.argv
        for windows in ({}, dict.fromkeys(("n0", "n1"), 4))
    ]
    assert "--prometheus-port" not in words[0]
    at = words[1].index("--prometheus-port")
    assert words[1][at + 1] == str(within(4, ports.ROUTER_METRICS))


def test_services_are_found_where_they_are(plan: Callable[..., Plan]) -> None:
    moved = bound(plan(RECIPES["services"]), {"n0": 2})
    steps = {step.name: step for step in moved.steps}
    client = within(2, ports.ETCD_CLIENT)
    assert steps["etcd"].probe.port == client
    assert steps["agg_0"].command.env["ETCD_ENDPOINTS"] == f"http://10.0.0.1:{client}"
    metadata = within(2, ports.MOONCAKE_METADATA)
    assert (
        steps["agg_0"].command.env["MOONCAKE_TE_META_DATA_SERVER"] == f"http://10.0.0.1:{metadata}/metadata"
    )
    # The pool's nodes are nobody else's, so Ray's head is where it always is.
    assert "--port=6379" in steps["train_n2"].command.argv


def test_two_ray_clusters_on_a_node_open_different_ports(plan: Callable[..., Plan]) -> None:
    text = "services: [{name: train, type: ray, nodes: 2}]\nfrontend: {type: none}\n"
    alone, usual, moved = (bound(plan(text), w) for w in ({}, {"n0": 0, "n1": 0}, {"n0": 5, "n1": 5}))
    head, follower = (set(step.command.argv) for step in moved.steps)
    assert {
        f"--port={within(5, ports.RAY)}",
        f"--ray-client-server-port={within(5, ports.RAY_CLIENT)}",
    } < head
    assert f"--address=10.0.0.1:{within(5, ports.RAY)}" in follower
    assert {"--min-worker-port=0", "--max-worker-port=0"} < head & follower
    # The first window's cluster has neighbours, too.
    assert "--min-worker-port=0" in usual.steps[0].command.argv
    assert not any("worker-port" in word for step in alone.steps for word in step.command.argv)


def test_what_a_person_wrote_stays_as_it_is(plan: Callable[..., Plan]) -> None:
    text = (
        "frontend: {type: none}\nservices:\n- {name: train, type: ray, nodes: 1, options: {port: 6400}}\n"
        "- {name: own, command: [my-server, --port, '9000'], readiness: {tcp: 9000}}\n"
        "- {name: node-exporter, type: node-exporter, options: {port: 9111}}\n"
    )
    steps = {step.name: step for step in bound(plan(text), {"n0": 5}).steps}
    assert "--port=6400" in steps["train"].command.argv
    assert f"--dashboard-port={within(5, ports.RAY_DASHBOARD)}" in steps["train"].command.argv
    assert steps["own"].probe.port == 9000
    assert "--web.listen-address=:9111" in steps["node-exporter"].command.argv


def test_replicas_stay_at_port_8080(plan: Callable[..., Plan]) -> None:
    moved = bound(plan("engine: sglang\nreplicas: 2\nrouter: sglang\n"), {"n0": 3, "n1": 3})
    assert {step.probe.port for step in moved.steps} == {8080, 30000}
