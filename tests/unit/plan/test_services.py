"""Where services stand, by which words they start, and what is told to others about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from servesweep.plan.plan import Plan, Step
from servesweep.topology.deployment import Command, Probe, Readiness

Planner = Callable[..., Plan]
AGG = "engine: sglang\nroles: {agg: {nodes: 2, workers: 4}}\nfrontend: {type: sglang-router}\n"
PD = (
    "engine: sglang\nroles: {prefill: {nodes: 1, workers: 2}, decode: {nodes: 2}}\n"
    "frontend: {type: sglang-router}\n"
)
ALONE = "frontend: {type: none}\nbenchmark: {type: manual}\n"


def services(plan: Plan) -> dict[str, Step]:
    return {step.name: step for step in plan.steps if step.kind == "service"}


def declared(*entries: str) -> str:
    return "services:\n" + "".join(f"  - {{{entry}}}\n" for entry in entries)


def test_a_generic_service_is_the_recipe_s_own_words(plan: Planner) -> None:
    text = (
        "services:\n"
        "  - name: side-car\n"
        "    command: [serve, --at, '{node_ip}:9000', '{\"json\": {\"node\": 1}}']\n"
        "    args: [--of, '{pool_node_count}']\n"
        "    env: {WHERE: '{node}/{role}/{index}', PORT: 9000}\n"
        "    preamble: |\n"
        "      ulimit -n 1048576\n"
        "    readiness: {http: {port: 9000, path: /ready, status: 204}, timeout_seconds: 5}\n"
        "    cpus_per_task: 3\n"
        "    cpu_bind: none\n"
        "    srun_options: {mem: 4G}\n"
    )
    found = plan(AGG + text + "srun_options: {mem: 1G, mpi: none}\n", environment={"SITE": "lab"})
    (step,) = services(found).values()
    words = ("serve", "--at", "ip-n0:9000", '{"json": {"node": 1}}', "--of", "1")
    probe = Probe(kind="http", port=9000, path="/ready", status=204)
    assert step == Step(
        name="side-car",
        kind="service",
        service="side-car",
        node="n0",
        command=Command(
            argv=("bash", "-c", 'set -e\nulimit -n 1048576\nexec "$0" "$@"', *words),
            env={"SITE": "lab", "WHERE": "n0/head/0", "PORT": "9000"},
        ),
        probe=probe,
        readiness=Readiness(probes=(probe,), timeout_seconds=5, interval_seconds=2),
        start="after_frontend",
        critical=False,
        srun_options={"mem": "4G", "mpi": "none", "cpus-per-task": "3", "cpu-bind": "none"},
        log="service_side-car.out",
    )
    assert found.unsupported == ()


@pytest.mark.parametrize(
    ("placement", "nodes"),
    [
        ("head", ["n0"]),
        ("infra", ["n0"]),
        ("prefill", ["n0"]),
        ("decode", ["n1", "n2"]),
        ("workers", ["n0", "n1", "n2"]),
        ("compute", ["n0", "n1", "n2", "n3", "n4"]),
        ("all", ["n0", "n1", "n2", "n3", "n4", "n5"]),
    ],
)
def test_placements(plan: Planner, placement: str, nodes: list[str]) -> None:
    pool = "name: train, nodes: 2, command: [t]"
    client = "benchmark: {type: custom, command: x, placement: {node: dedicated}}\n"
    found = plan(PD + client + declared(pool, f"name: s, command: [c], placement: {{node: {placement}}}"))
    steps = [step for step in found.steps if step.service == "s"]
    assert [step.node for step in steps] == nodes
    names = ["s"] if len(nodes) == 1 else [f"s_{node}" for node in nodes]
    assert [step.name for step in steps] == names
    logs = ["service_s.out"] if len(nodes) == 1 else ["service_s_{host}.out"] * len(nodes)
    assert [step.log for step in steps] == logs
    assert found.deployment.services["s"] == tuple(nodes)


def test_an_instance_a_worker_sees_its_gpus(plan: Planner) -> None:
    text = "name: watch, command: [dmon, -i, '{worker_gpus}'], placement: {node: prefill, per: worker}"
    found = plan(PD + declared(text))
    assert [(s.name, s.log, s.node, s.gpus, s.command) for s in services(found).values()] == [
        (
            f"watch_prefill_{index}_n0", f"service_watch_prefill_{index}_{{host}}.out", "n0", gpus,
            Command(argv=("dmon", "-i", told), env={"CUDA_VISIBLE_DEVICES": told}),
        )
        for index, gpus, told in ((0, (0, 1, 2, 3), "0,1,2,3"), (1, (4, 5, 6, 7), "4,5,6,7"))
    ]  # fmt: skip
    assert found.nodes[0].holds.count("watch") == 1


def test_pools_follow_the_roles_and_riders_their_owners(plan: Planner) -> None:
    found = plan(
        AGG
        + declared(
            "name: train, nodes: 2, command: [torchrun, '--node-rank={index}', '--master-addr={pool_ip}']",
            "name: nap, nodes: 1, command: [sleep, '{pool_node}']",
            "name: ride, command: [ride, '{pool_ips}', '{role}'], placement: {pool: train}",
        )
    )
    assert {node.name: node.holds for node in found.nodes} == {
        "n0": ("head", "agg_0", "agg_1", "frontend_0", "client"),
        "n1": ("agg_2", "agg_3"),
        "n2": ("train", "ride"),
        "n3": ("train", "ride"),
        "n4": ("nap",),
    }
    assert {name: step.command.argv[1:] for name, step in services(found).items()} == {
        "train_n2": ("--node-rank=0", "--master-addr=ip-n2"),
        "train_n3": ("--node-rank=1", "--master-addr=ip-n2"),
        "nap": ("n4",),
        "ride_n2": ("ip-n2,ip-n3", "train"),
        "ride_n3": ("ip-n2,ip-n3", "train"),
    }


def test_the_order_of_start(plan: Planner) -> None:
    generic = "name: {0}, command: [x], start: {0}"
    text = "engine: mocker\nroles: {agg: {nodes: 1}}\n" + declared(
        "name: late, command: [x]",
        *(generic.format(start).replace("name: with_workers", "name: beside")
          .replace("name: before_workers", "name: before")
          for start in ("with_workers", "before_workers", "infra")),
    )  # fmt: skip
    found = plan(text)
    assert [(step.name, step.start) for step in found.steps] == [
        ("etcd", "infra"), ("infra", "infra"), ("before", "before_workers"), ("beside", "with_workers"),
        ("agg_0", None), ("frontend_0", None), ("late", "after_frontend"),
    ]  # fmt: skip


def test_services_are_told_of_the_discovery_plane_unless_they_do_not_want(plan: Planner) -> None:
    found = plan(
        "engine: mocker\nroles: {agg: {nodes: 1}}\n"
        + declared("name: a, command: [x]", "name: b, command: [x], inherit_discovery_env: false")
    )
    told = {"ETCD_ENDPOINTS": "http://ip-n0:2379", "DYN_DISCOVERY_BACKEND": "etcd"}
    assert {name: step.command.env for name, step in services(found).items()} == {
        "etcd": {}, "a": told, "b": {},
    }  # fmt: skip


def test_the_recipe_s_environment_is_for_workers_and_not_for_services(plan: Planner) -> None:
    found = plan(AGG + "environment: {A: 1}\n" + declared("name: s, command: [x]"))
    assert services(found)["s"].command.env == {}


def test_a_declared_one_takes_the_place_of_the_implied_one(plan: Planner) -> None:
    dynamo = "engine: mocker\nroles: {agg: {nodes: 1}}\ndynamo: {request_plane: nats}\n"
    found = plan(
        dynamo
        + declared(
            "name: nats, type: nats, placement: {node: dedicated}, options: {max_payload_mb: 24}",
            "name: etcd, type: etcd, placement: {node: dedicated}, args: [--debug], container: mirror",
        ),
        container_runtime="pyxis",
    )
    assert [(s.name, s.implied, s.on) for s in found.services] == [
        ("etcd", False, ("n0",)), ("nats", False, ("n0",)),
    ]  # fmt: skip
    assert found.nodes[0].holds == ("etcd", "nats")
    assert services(found)["etcd"].command.argv[-1] == "--debug"
    assert services(found)["etcd"].image == "mirror"
    assert services(found)["nats"].command.files == {"<LOGS>/nats.conf": "max_payload: 25165824\n"}


def test_one_that_runs_elsewhere_is_not_started_but_told(plan: Planner) -> None:
    found = plan(
        "engine: mocker\nroles: {agg: {nodes: 1}}\n" + declared("name: etcd, type: etcd, external: 'e.lab:1'")
    )
    assert services(found) == {}
    assert found.services[0].external == "e.lab:1"
    assert found.deployment.discovery["ETCD_ENDPOINTS"] == "http://e.lab:1"


def test_an_implied_exporter_is_left_out_by_its_name(plan: Planner) -> None:
    scraped = AGG + "observability: {tachometer: {enabled: true}}\n"
    assert list(services(plan(scraped))) == [
        "dcgm-exporter_n0", "dcgm-exporter_n1", "node-exporter_n0", "node-exporter_n1",
        "process-exporter_n0", "process-exporter_n1",
    ]  # fmt: skip
    off = plan(scraped + declared("name: dcgm-exporter, type: dcgm-exporter, enabled: false"))
    assert [service.name for service in off.services] == ["node-exporter", "process-exporter"]


def test_power_is_asked_of_the_exporter_that_telemetry_names(plan: Planner) -> None:
    found = plan(
        "engine: sglang\nroles: {agg: {nodes: 1}}\nfrontend: {type: sglang-router}\n"
        "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1}\n"
        "telemetry: {enabled: true, collect_interval_ms: 500, dcgm_exporter:"
        " {container_image: img, port: 9402}}\n",
        container_runtime="pyxis",
    )
    (step,) = services(found).values()
    assert step.command.argv == ("dcgm-exporter", "--collect-interval=500", "--address", ":9402")
    assert step.image == "img"


def test_workers_find_the_mooncake_master(plan: Planner) -> None:
    found = plan(
        "engine: sglang\n"
        "roles: {agg: {nodes: 2, env: {MOONCAKE_LOCAL_HOSTNAME: nic, MOONCAKE_MASTER: mine}}}\n"
        "frontend: {type: sglang-router}\n"
        + declared(
            "name: mooncake-master, type: mooncake-master, args: [--x], container: moon,"
            " options: {store_config: {protocol: rdma}}",
            "name: store, type: mooncake-store, placement: {node: workers}, args: [--port, '8800'],"
            " readiness: {port: 8800}",
        ),
        container_runtime="pyxis",
    )
    master = {
        "MOONCAKE_MASTER": "ip-n0:8700",
        "MOONCAKE_TE_META_DATA_SERVER": "http://ip-n0:8701/metadata",
    }
    steps = {step.name: step for step in found.steps}
    worker = steps["agg_0"].command
    assert worker.env.items() >= {"MOONCAKE_LOCAL_HOSTNAME": "nic", **master}.items()
    assert worker.env["MOONCAKE_CONFIG_PATH"] == "/logs/mooncake_store_config.json"
    assert json.loads(worker.files["<LOGS>/mooncake_store_config.json"]) == {
        "protocol": "rdma", "master_server_address": "ip-n0:8700",
    }  # fmt: skip
    assert steps["store_n1"].command == Command(
        argv=("python3", "-m", "mooncake.mooncake_store_service", "--port", "8800"),
        env={"MOONCAKE_LOCAL_HOSTNAME": "ip-n1", **master},
    )
    assert steps["store_n1"].image == steps["mooncake-master"].image == "moon"
    assert steps["mooncake-master"].command.argv[-1] == "--x"
    assert [step.name for step in found.steps][:3] == ["mooncake-master", "store_n0", "store_n1"]


def test_a_ray_cluster_is_a_job_of_its_own(plan: Planner) -> None:
    found = plan(
        ALONE
        + declared(
            "name: ray, type: ray, nodes: 2, options: {num_gpus: 0}",
            "name: job, command: [python3, train.py, '{pool_ip}:6379'], placement: {pool: ray},"
            " start: after_frontend, terminal: true",
        )
    )
    start = ("ray", "start")
    assert {name: step.command.argv for name, step in services(found).items()} == {
        "ray_n0": (
            *start, "--node-ip-address=ip-n0", "--num-gpus=0", "--disable-usage-stats", "--block",
            "--head", "--port=6379", "--dashboard-host=0.0.0.0", "--dashboard-port=8265",
            "--temp-dir=<SCRATCH>/ray",
        ),
        "ray_n1": (
            *start, "--node-ip-address=ip-n1", "--num-gpus=0", "--disable-usage-stats", "--block",
            "--address=ip-n0:6379",
        ),
        "job_n0": ("python3", "train.py", "ip-n0:6379"),
        "job_n1": ("python3", "train.py", "ip-n0:6379"),
    }  # fmt: skip
    assert [step.terminal for step in found.steps] == [False, False, True, True]
    assert (found.public, found.deployment.head, found.deployment.terminal) == (None, "n0", ("job",))
    assert found.slurm.nodes == 2
    assert found.unsupported == ()


def test_gms_stands_beside_the_worker_whose_gpus_it_serves(plan: Planner) -> None:
    found = plan(
        "engine: {type: vllm, failover: {shadow_engines: 1, shared_dir: /mnt/s}}\n"
        "roles: {agg: {nodes: 1, workers: 2}}\n"
    )
    steps = [step for step in found.steps if step.service == "gms"]
    assert [(step.name, step.gpus) for step in steps] == [
        ("gms_agg_0_n0", (0, 1, 2, 3)), ("gms_agg_1_n0", (4, 5, 6, 7)),
    ]  # fmt: skip
    assert steps[1].command.env == {
        "ETCD_ENDPOINTS": "http://ip-n0:2379",
        "DYN_DISCOVERY_BACKEND": "etcd",
        "GMS_SOCKET_DIR": "/mnt/s/<SCRATCH>/agg_1",
        "CUDA_VISIBLE_DEVICES": "4,5,6,7",
    }


def test_lmcache_stands_on_the_nodes_of_the_role_that_uses_it(plan: Planner) -> None:
    vllm = "engine: {type: vllm, connector: lmcache-mp}\nroles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"
    assert list(services(plan(vllm)))[1:] == ["lmcache-server_n0", "lmcache-server_n1"]


FILE = "file: 'ready/{node}.txt'"


@pytest.mark.parametrize(
    ("asked", "readiness"),
    [
        ("port: 9000", {"probes": (Probe(kind="tcp", port=9000),)}),
        ("tcp: 9000", {"probes": (Probe(kind="tcp", port=9000),)}),
        ("tcp: {port: 9000}", {"probes": (Probe(kind="tcp", port=9000),)}),
        ("http: {port: 80}", {"probes": (Probe(kind="http", port=80),)}),
        ("log: {pattern: 'up on \\d+'}", {"log": r"up on \d+"}),
        (FILE, {"file": "<LOGS>/ready/n0.txt"}),
        ("file: {path: /run/ready}", {"file": "/run/ready"}),
    ],
)
def test_the_ways_of_asking(plan: Planner, asked: str, readiness: dict[str, Any]) -> None:
    found = plan(AGG + declared(f"name: s, command: [x], readiness: {{{asked}}}"))
    assert services(found)["s"].readiness == Readiness(**readiness)


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        (["name: s, command: [x, '{nod_ip}']"],
         "services[0].command[1]: unknown placeholder {nod_ip}; did you mean {node_ip}?"),
        (["name: s, command: [x], env: {A: '{pool_count}'}"],
         "services[0].env.A: unknown placeholder {pool_count}; did you mean {pool_node_count}?"),
        (["name: s, command: [x, '{worker_index}']"],
         "services[0].command[1]: {worker_index} tells of a worker: it needs placement.per: worker"),
        (["name: s, command: [x], external: h"],
         "services[0].external: etcd, nats and mooncake-master can run elsewhere, and generic cannot"),
        (["name: s, command: [x], options: {a: 1}"], "services[0].options.a: unknown key"),
        (["name: s, type: ray, options: {prot: 1}"],
         "services[0].options.prot: unknown key; did you mean port"),
        (["name: s, type: ray, command: [x]"], "services[0].command: ray has a command for its head"),
        (["name: s, type: ray, placement: {node: prefill}"],
         "services[0].placement: ray cannot stand on prefill"),
        (["name: s, type: mooncake-store"], "services[0].type: a store registers with a mooncake-master"),
        (["name: s, type: gms"], "services[0].type: gms keeps weights for engine.failover"),
        (["name: a, type: mooncake-master", "name: b, type: mooncake-master"],
         "services[1].type: a job has one mooncake-master"),
        (["name: head, command: [x]"], "services[0].name: something else on a node is called head"),
        (["name: s, command: [x], placement: {node: head, per: worker}"],
         "services[0].placement.node: head has no workers of its own"),
        (["name: s, command: [x], placement: {per: worker}"],
         "services[0].placement: per: worker needs to know whose workers"),
        (["name: s, command: [x], source: {git: g, rev: main}"], "services[0].source.rev: main moves"),
        (["name: s, command: [x], nodes: 2, source: {git: g, rev: v1}"],
         "services[0].source: it is built on the one node"),
        (["name: s, command: [x], readiness: {log: {pattern: '('}}"],
         "services[0].readiness.log.pattern: the pattern is no regular expression"),
        (["name: s, command: [x], metrics: [{port: 1}, {port: 2}]"],
         "services[0].metrics: several endpoints need a name each"),
        (["name: a, command: [x], readiness: {port: 9000}", "name: b, command: [x], readiness: {tcp: 9000}"],
         "services[1]: b and a both listen on port 9000 of n0"),
        (["name: a, command: [x], readiness: {http: {port: 8000}}"],
         "services[0]: a and the public API both listen on port 8000 of n0"),
        (["name: a, command: [x], readiness: {port: 6100}, placement: {node: decode}"],
         "services[0]: a_n1 and decode_0 both listen on port 6100 of n1"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told(complaint: Callable[..., str], entries: list[str], sentence: str) -> None:
    found = complaint(PD + "benchmark: {type: custom, command: x}\n" + declared(*entries))
    assert any(sentence in line for line in found.splitlines()), found


def test_a_job_of_services_has_no_workers_to_stand_beside(complaint: Callable[..., str]) -> None:
    pool = "name: p, nodes: 1, command: [x]"
    found = complaint(ALONE + declared(pool, "name: s, command: [x], placement: {node: workers}"))
    assert "services[1].placement: there are no workers in this recipe: say pool, head or all" in found


def test_a_terminal_service_is_the_only_end_of_a_job(complaint: Callable[..., str]) -> None:
    body = "frontend: {type: none}\nbenchmark: {type: manual, serve_seconds: 9}\n"
    found = complaint(body + declared("name: p, nodes: 1, command: [x], terminal: true"))
    assert "services[0].terminal: a terminal service ends the job, so serve_seconds may not" in found


def test_on_one_machine_instances_share_its_ports(complaint: Callable[..., str]) -> None:
    text = "name: p, nodes: 2, command: [x], readiness: {port: 9000}"
    found = complaint(ALONE + declared(text), launcher="local")
    assert "services[0]: p_n1 and p_n0 both listen on port 9000 of localhost" in found


@pytest.mark.parametrize("ports", ["port: 8265", "port: 9000, dashboard_port: 9000"])
def test_the_head_of_ray_and_its_dashboard_have_ports_of_their_own(
    complaint: Callable[..., str], ports: str
) -> None:
    text = ALONE + declared(f"name: x, type: ray, nodes: 2, options: {{{ports}}}")
    assert "services[0].options: the head and its dashboard would listen on one port" in complaint(text)
