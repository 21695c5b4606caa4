"""What is planned and cannot be run yet is told, and refused before anything is submitted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan
from servesweep.plan.preflight import preflight

Planner = Callable[..., Plan]
AGG = "engine: sglang\nroles: {agg: {nodes: 1}}\n"


@pytest.mark.parametrize(
    ("more", "feature"),
    [
        ("observability: {enabled: true}\n", "observability.tachometer: scraping metrics"),
        ("observability: {nsys: {capture_window: measured_workload}}\n",
         "observability.nsys: tracing every process"),
        ("profiling: {type: torch, aggregated: {start_step: 1, stop_step: 2}}\n",
         "profiling.type: tracing the engines"),
        ("dynamo: {top_of_tree: true}\n", "dynamo.top_of_tree: building Dynamo"),
        ("reporting: {status: {endpoint: x}}\n", "reporting: telling others about the run"),
        ("services: [{name: own, command: [a], source: {git: g, rev: v1}}]\n",
         "services.own.source: fetching and building a service"),
        ("benchmark: agentperf\n", "benchmark.type agentperf: its client"),
    ],
)  # fmt: skip
def test_a_feature_is_told_and_refused(plan: Planner, more: str, feature: str) -> None:
    found = plan(AGG + more)
    assert feature in found.unsupported
    where, what = feature.split(": ")
    (reason,) = [problem for problem in preflight(found) if what in problem.message]
    assert where.startswith(reason.key)
    assert reason.message.endswith(f"{what}: this version cannot run it yet")


@pytest.mark.parametrize(
    ("body", "feature"),
    [
        ("engine: {type: vllm, failover: {}}\nroles: {agg: {nodes: 1}}\n",
         "engine.failover: standby engines"),
        ("engine: {type: trtllm, sequential_node_start: 1}\nroles: {agg: {nodes: 1}}\n",
         "engine.sequential_node_start: starting workers in turns"),
        ("engine: {type: vllm, connector: moriio}\nroles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"
         "frontend: {type: vllm-router, enable_multiple_frontends: false}\n",
         "engine.connector moriio: workers that register with their router"),
    ],
)  # fmt: skip
def test_a_feature_of_workers_is_told(plan: Planner, body: str, feature: str) -> None:
    assert feature in plan(body).unsupported


def test_ranks_of_one_launch_are_told_where_there_is_no_slurm(plan: Planner) -> None:
    ranks = "engine: trtllm\nroles: {agg: {nodes: 1, gpus: 8}}\n"
    feature = "engine trtllm: one launch over all ranks of a worker, without Slurm"
    assert feature in plan(ranks, launcher="local").unsupported
    assert plan(ranks).unsupported == ()
    alone = "engine: trtllm\nroles: {agg: {nodes: 1, gpus: 1}}\n"
    assert plan(alone, launcher="local").unsupported == ()


def test_what_of_a_model_or_of_dynamo_cannot_be_brought_to_the_nodes_is_told(plan: Planner) -> None:
    head = "schema: 2\nname: demo\nmodel: {path: 'hf:org/m', precision: fp8, stage_dir: /nvme}\n"
    assert "model.stage_dir: copying a model of the hub" in plan(AGG, head=head).unsupported
    patched = AGG + "dynamo: {source: {git: g, rev: v1, patches: [p]}}\n"
    feature = "dynamo.source.patches: patching the source"
    assert feature in plan(patched, container_runtime="pyxis").unsupported
    assert plan(patched).unsupported == ()


def test_implied_services_are_told(plan: Planner) -> None:
    found = plan(AGG + "observability: {tachometer: {enabled: true}}\n")
    assert [service.name for service in found.services if service.implied] == [
        "etcd", "dcgm-exporter", "node-exporter", "process-exporter",
    ]  # fmt: skip
    assert next(s.on for s in found.services if s.name == "node-exporter") == ("n0",)


def test_what_the_plan_itself_does_is_not_told(plan: Planner) -> None:
    assert plan(AGG).unsupported == ()
    events = "engine: sglang\nroles: {agg: {nodes: 1, kv_events: true}}\n"
    assert plan(events).unsupported == ()
    elsewhere = plan(AGG + "services: [{name: etcd, type: etcd, external: 'http://etcd.site:2379'}]\n")
    assert elsewhere.unsupported == ()
    assert [step.kind for step in elsewhere.steps] == ["worker", "frontend"]
    assert elsewhere.steps[0].command.env["ETCD_ENDPOINTS"] == "http://etcd.site:2379"


def test_preflight_of_the_cluster_file_can_be_left_out(plan: Planner) -> None:
    assert any("no such directory" in problem.message for problem in preflight(plan(AGG)))
    assert preflight(plan(AGG, preflight=False)) == []


def test_site_defaults_fill_sections_that_a_recipe_does_not_have(plan: Planner) -> None:
    site = {"default_health_check": {"max_attempts": 7}, "default_host_setup": {"commands": ["a"]}}
    found = plan(AGG, **site)
    assert found.resolved.health_check.max_attempts == 7
    assert found.resolved.host_setup is not None
    assert found.resolved.host_setup.commands == ("a",)
    own = plan(AGG + "health_check: {interval_seconds: 1}\n", **site)
    assert own.resolved.health_check.max_attempts == 180


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ("extra_mount: ['/a:/b']\n", "mounts are not used: container_runtime is none"),
        ("dynamo: {source: {pypi: 1.2.0}}\n", "dynamo.source is not installed: without containers"),
        ("output: {log_dir: ./x}\n", "output.log_dir has no effect"),
        ("enable_config_dump: false\n", "enable_config_dump has no effect"),
        ("services: [{name: a, command: [x], metrics: {port: 9}}]\n", "metrics of services are not scraped"),
    ],
)
def test_what_has_no_effect_is_noted(plan: Planner, more: str, note: str) -> None:
    assert any(line.startswith(note) for line in plan(AGG + more).notes)


def test_keys_of_a_cluster_file_without_effect_are_noted(plan: Planner) -> None:
    assert plan(AGG, network_interface="eth0", output_dir="/x").notes[1:] == (
        "the cluster file's network_interface and output_dir have no effect here",
    )


@pytest.mark.parametrize(
    ("services", "sentence"),
    [
        ("[{name: a, type: redis}]",
         "services[0].type: unknown service type 'redis'; there are: generic, etcd"),
        ("[{name: a, type: etdc}]", "services[0].type: unknown service type 'etdc'; did you mean etcd?"),
        ("[{name: a, command: [x]}, {name: a, command: [y]}]",
         "services[1].name: there are two services 'a'"),
        ("[{name: log-1, command: [x]}, {name: Log-1, command: [y]}]",
         "services[1].name: 'Log-1' and 'log-1' are told to clients by the same variables,"
         " SRT_SERVICE_LOG_1_*: rename one"),
        ("[{name: ETCD, command: [x]}]",
         "services[0].name: 'ETCD' and 'etcd' are told to clients by the same variables, SRT_SERVICE_ETCD_*"),
        ("[{name: a, command: [x], placement: {pool: b}}]", "services[0].placement: there is no pool 'b'"),
        ("[{name: a, command: [x], placement: {node: decode}}]",
         "services[0].placement: there is no role decode in this recipe"),
        ("[{name: a, command: [x], placement: {node: dedicated}}]",
         "services[0].placement: dedicated is for etcd, nats and mooncake-master"),
        ("[{name: a, command: [x], terminal: true}]",
         "services[0].terminal: a terminal service ends the job"),
        ("[{name: etcd, command: [x]}]", "services[0].type: a service named etcd is of the type etcd"),
        ("[{name: etcd, type: etcd, enabled: false}]", "services[0].enabled: Dynamo needs etcd"),
        ("[{name: a}]", "services[0].command: a generic service needs its command"),
        ("[{name: a b, command: [x]}]", "services[0].name: 'a b' is no name of a service"),
        ("[{name: a, command: [x], nodes: 2, placement: {node: head}}]",
         "services[0].placement: nodes makes a pool of its own"),
        ("[{name: a, command: [x], readiness: {port: 1, file: f}}]",
         "services[0].readiness: readiness is asked in exactly one way"),
    ],
)  # fmt: skip
def test_services_that_do_not_fit_are_refused(
    complaint: Callable[..., str], services: str, sentence: str
) -> None:
    load = "benchmark: {type: custom, command: x}\n"
    found = complaint(AGG + load + f"services: {services}\n")
    assert any(line.startswith(f"demo.yaml:7: {sentence}") for line in found.splitlines()), found


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ("profiling: {type: torch, prefill: {start_step: 1, stop_step: 2}}\n",
         "profiling.prefill: this recipe has no such workers: its roles are agg"),
        ("profiling: {type: nsys}\n", "profiling.type: the steps of aggregated are missing"),
        ("profiling: {type: nsys-time}\n",
         "profiling.delay_secs: nsys-time needs delay_secs and duration_secs"),
        ("profiling: {type: torch, aggregated: {start_step: 5, stop_step: 5}}\n",
         "profiling.aggregated.stop_step: the trace ends before it begins, at step 5"),
        ("telemetry: {enabled: true}\n", "telemetry.dcgm_exporter: telemetry asks an exporter"),
        ("dynamo: {source: {git: x, rev: main}}\n", "dynamo.source.rev: main moves"),
        ("dynamo: {source: {git: x}}\n", "dynamo.source.rev: git needs rev"),
        ("dynamo: {source: {pypi: 1.0.0, wheel: x}}\n",
         "dynamo.source: a source is exactly one of git, pypi and wheel, and pypi and wheel are given"),
        ("dynamo: {source: {pypi: 1.0.0, rev: x}}\n", "dynamo.source.rev: rev belongs to git"),
        ("dynamo: {top_of_tree: true, source: {pypi: 1.0.0}}\n",
         "dynamo.top_of_tree: top_of_tree and source exclude each other"),
    ],
)  # fmt: skip
def test_sections_that_contradict_themselves_are_refused(
    complaint: Callable[..., str], more: str, sentence: str
) -> None:
    found = complaint(AGG + more)
    assert found.startswith(f"demo.yaml:6: {sentence}"), found
