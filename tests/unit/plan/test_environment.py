"""The environment of workers and frontends: placeholders, presets, and who wins."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan
from servesweep.plan.render import rebind
from servesweep.recipe.problems import RecipeError
from servesweep.topology.deployment import Binding

Planner = Callable[..., Plan]

ROLES = (
    "roles:\n"
    "  prefill: {nodes: 1, env: {RANK: '{node_id}', KEPT: '{\"node\": \"{other}\"}'}}\n"
    "  decode: {nodes: 2, workers: 2}\n"
    "environment: {CACHE: '/tmp/{node}/{node_id}', HALF: '{node', NODES: '{nodes}'}\n"
)
SPANS = {"DYN_LOGGING_SPAN_EVENTS": "true", "DYN_LOGGING_JSONL": "true", "DYN_LOG": "debug"}


def told(found: Plan, *names: str) -> dict[str, dict[str, str]]:
    """Some variables of every worker and frontend, by step."""
    return {
        step.name: {name: step.command.env[name] for name in names if name in step.command.env}
        for step in found.steps
        if step.kind != "service"
    }


def test_a_worker_is_told_its_node(plan: Planner) -> None:
    assert told(plan("engine: sglang\n" + ROLES), "CACHE", "RANK", "KEPT", "HALF", "NODES") == {
        "prefill_0": {
            "CACHE": "/tmp/n0/0", "RANK": "0", "KEPT": '{"node": "{other}"}', "HALF": "{node",
            "NODES": "{nodes}",
        },
        "decode_0": {"CACHE": "/tmp/n1/1", "HALF": "{node", "NODES": "{nodes}"},
        "decode_1": {"CACHE": "/tmp/n2/2", "HALF": "{node", "NODES": "{nodes}"},
        # A frontend has no such placeholders.
        "frontend_0": {"CACHE": "/tmp/{node}/{node_id}", "HALF": "{node", "NODES": "{nodes}"},
    }  # fmt: skip


def test_on_real_nodes_it_is_the_hosts_name(plan: Planner) -> None:
    nodes = ("n0", "n1", "n2")
    binding = Binding(
        addresses={node: f"10.0.0.{at}" for at, node in enumerate(nodes)},
        hosts={"n0": "gpu7", "n1": "gpu8", "n2": "gpu9"},
        logs="/logs",
        scratch="/scratch",
    )
    found = rebind(plan("engine: sglang\n" + ROLES), binding)
    assert told(found, "CACHE")["decode_1"] == {"CACHE": "/tmp/gpu9/2"}


def test_one_launch_over_several_nodes_has_no_one_node(plan: Planner) -> None:
    env = "env: {CACHE: '{node}'}"
    found = plan(f"engine: trtllm\nroles: {{prefill: {{nodes: 1, {env}}}, decode: {{nodes: 2, {env}}}}}\n")
    assert [one.get("CACHE") for one in told(found, "CACHE").values()] == ["n0", "{node}", None]


def test_the_preset_of_observability(plan: Planner) -> None:
    found = plan(
        "engine: sglang\nroles: {agg: {nodes: 1, env: {DYN_LOG: warn}}}\n"
        "observability: {enabled: true, enable_otel: true, otel_endpoint: 'http://otel:4317'}\n"
    )
    names = {name for step in found.steps for name in step.command.env if "TRACE" in name or "OTEL" in name}
    otel = {"OTEL_EXPORT_ENABLED": "1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://otel:4317"}
    assert told(found, *SPANS, *names) == {
        "agg_0": {**SPANS, "DYN_LOG": "warn", **otel, "OTEL_SERVICE_NAME": "dynamo-agg"},
        "frontend_0": {
            **SPANS,
            **otel,
            "OTEL_SERVICE_NAME": "dynamo-frontend",
            "DYN_REQUEST_TRACE": "1",
            "DYN_REQUEST_TRACE_FILE_PATH": "<LOGS>/dynamo-request-trace",
        },
    }


def test_traces_alone(plan: Planner) -> None:
    found = plan(
        "engine: sglang\nroles: {agg: {nodes: 1}}\n"
        "observability: {enable_otel: true, otel_endpoint: 'http://otel:4317'}\n"
    )
    assert told(found, *SPANS) == {
        "agg_0": {
            "DYN_LOG": "info,dynamo_runtime::pipeline::network::ingress::push_handler=warn",
            "DYN_LOGGING_JSONL": "1",
        },
        "frontend_0": {"DYN_LOGGING_JSONL": "1"},
    }


def test_traces_need_a_place(plan: Planner) -> None:
    with pytest.raises(RecipeError, match="enable_otel exports traces to otel_endpoint: say where"):
        plan("engine: sglang\nroles: {agg: {nodes: 1}}\nobservability: {enable_otel: true}\n")


def test_under_another_frontend_nothing_is_told_of_dynamo(plan: Planner) -> None:
    found = plan(
        "engine: sglang\nroles: {agg: {nodes: 1}}\nfrontend: {type: sglang}\nobservability: {enabled: true}\n"
    )
    assert [step.command.env for step in found.steps if step.kind == "worker"] == [{"HEAD_NODE_IP": "ip-n0"}]


def test_the_event_plane_is_told_to_both_sides(plan: Planner) -> None:
    found = plan(
        "engine: sglang\nroles: {agg: {nodes: 1}}\ndynamo: {event_plane: zmq, request_plane: http}\n"
    )
    planes = {"DYN_EVENT_PLANE": "zmq", "DYN_REQUEST_PLANE": "http"}
    assert told(found, *planes) == {"agg_0": planes, "frontend_0": planes}
