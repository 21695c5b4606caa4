"""Topology and Placement, "placement": what can be checked before a job runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

PD = "engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: 2, workers: 2}}\n"
AGG = "engine: sglang\nroles: {agg: {nodes: 1}}\n"
ALONE = "frontend: {enable_multiple_frontends: false, placement: {node: %s}}\n"


def holds(plan: Any) -> dict[str, tuple[str, ...]]:
    return {node.name: node.holds for node in plan.nodes}


class TestPlacement:
    @pytest.mark.parametrize(
        ("frontend", "benchmark", "nodes"),
        [
            ("head", "head", ("n0", "n0")),
            ("head", "last_decode", ("n0", "n2")),
            ("first_decode", "head", ("n1", "n0")),
            ("first_decode", "last_decode", ("n1", "n2")),
        ],
    )
    def test_existing_nodes(self, read: Any, frontend: str, benchmark: str, nodes: tuple[str, str]) -> None:
        plan = read.plan(PD + ALONE % frontend + f"benchmark: {{placement: {{node: {benchmark}}}}}\n")
        assert (plan.deployment.frontend, plan.client) == nodes
        assert len(plan.nodes) == 3

    def test_dedicated_reserves_a_node_each_and_nothing_else_runs_there(self, read: Any) -> None:
        plan = read.plan(PD + ALONE % "dedicated" + "benchmark: {placement: {node: dedicated}}\n")
        assert len(plan.nodes) == plan.slurm.nodes == 5
        assert holds(plan)["n0"] == ("frontend_0",)
        assert holds(plan)["n4"] == ("client",)
        assert plan.deployment.head == "n1"

    def test_the_default_is_head(self, read: Any) -> None:
        plan = read.plan(PD)
        assert (plan.deployment.frontend, plan.client, plan.deployment.head) == ("n0", "n0", "n0")

    @pytest.mark.parametrize(
        ("section", "placement", "sentence"),
        [
            ("frontend", "{node: first}",
             ".node: expected head, first_decode or dedicated, got 'first'"),
            ("frontend", "{node: frist_decode}",
             ".node: expected head, first_decode or dedicated, got 'frist_decode';"
             " did you mean first_decode?"),
            ("frontend", "{node: last_decode}",
             ".node: expected head, first_decode or dedicated, got 'last_decode';"
             " did you mean first_decode?"),
            ("frontend", "{node: dedicatd}",
             ".node: expected head, first_decode or dedicated, got 'dedicatd'; did you mean dedicated?"),
            ("benchmark", "{node: first_decode}",
             ".node: expected head, last_decode or dedicated, got 'first_decode'; did you mean last_decode?"),
            ("benchmark", "{node: 3}", ".node: expected head, last_decode or dedicated, got 3"),
            ("benchmark", "{node: }", ".node: the key has no value: write one, or remove the key"),
            ("benchmark", "{nodes: head}", ".nodes: unknown key; did you mean node?"),
            ("benchmark", "head", ": expected a mapping such as {node: head}, got 'head'"),
        ],
    )  # fmt: skip
    def test_another_word_is_refused_and_the_nearest_is_named(
        self, read: Any, section: str, placement: str, sentence: str
    ) -> None:
        more = "  type: manual\n" if section == "benchmark" else "  type: dynamo\n"
        said = read.complaint(AGG + f"{section}:\n{more}  placement: {placement}\n")
        assert said == f"recipe.yaml:8: {section}.placement{sentence}"

    def test_decode_nodes_need_a_decode_role(self, read: Any) -> None:
        said = read.refusal(AGG + ALONE % "first_decode")
        assert said == "frontend.placement.node: first_decode needs a decode role, and this recipe has none"
        said = read.complaint(AGG + "benchmark:\n  type: manual\n  placement:\n    node: last_decode\n")
        assert said == (
            "recipe.yaml:9: benchmark.placement.node: last_decode needs a decode role,"
            " and this recipe has none"
        )

    def test_first_and_last_decode_over_workers_of_several_nodes(self, read: Any) -> None:
        text = "engine: sglang\nroles: {prefill: {nodes: 2}, decode: {nodes: 4, workers: 2}}\n"
        plan = read.plan(text + ALONE % "first_decode" + "benchmark: {placement: {node: last_decode}}\n")
        assert (plan.deployment.frontend, plan.client) == ("n2", "n5")

    def test_colocated_decode_stands_on_a_node_of_prefill(self, read: Any) -> None:
        roles = "roles: {prefill: {nodes: 2, workers: 3, gpus: 4}, decode: {nodes: colocate, gpus: 4}}\n"
        text = "engine: sglang\n" + roles + ALONE % "first_decode"
        plan = read.plan(text + "benchmark: {placement: {node: last_decode}}\n")
        assert (plan.deployment.frontend, plan.client) == ("n1", "n1")

    @pytest.mark.parametrize("section", ["frontend", "benchmark"])
    def test_one_dedicated_component_is_one_more_node_in_the_request(
        self, read: Any, sbatch: Any, section: str
    ) -> None:
        text = AGG + f"{section}: {{type: {'dynamo' if section == 'frontend' else 'manual'}%s}}\n"
        assert "--nodes=1" in sbatch(read.plan(text % ""))
        assert "--nodes=2" in sbatch(read.plan(text % ", placement: {node: dedicated}"))

    def test_the_client_asks_the_address_of_the_frontend_s_node(self, command: Any) -> None:
        text = PD + ALONE % "dedicated" + "benchmark: {type: manual, placement: {node: last_decode}}\n"
        found = json.loads(command(text, "plan", "recipe.yaml", "--json").stdout)
        assert found["placement"] == {"frontend": "n0", "benchmark": "n3", "services": {"etcd": ["n1"]}}
        assert found["benchmark"]["url"] == "http://ip-n0:8000"

    def test_telemetry_requires_the_client_on_head(self, read: Any) -> None:
        text = PD + "telemetry: {enabled: true, dcgm_exporter: {port: 9401}}\n"
        load = "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1, placement: {node: %s}}\n"
        for node in ("last_decode", "dedicated"):
            said = read.refusal(text + load % node)
            assert f"telemetry needs the client on head, and it is on {node}" in said
        assert "telemetry.enabled: sampling power" in read.plan(text + load % "head").unsupported

    def test_a_dedicated_discovery_plane_adds_one_node(self, read: Any) -> None:
        etcd = "{name: etcd, type: etcd, placement: {node: dedicated}}"
        nats = "{name: nats, type: nats, placement: {node: dedicated}}"
        plan = read.plan(PD + f"services: [{etcd}]\n")
        assert len(plan.nodes) == 4
        assert holds(plan)["n0"] == ("etcd",)
        both = read.plan(PD + f"dynamo: {{request_plane: nats}}\nservices: [{etcd}, {nats}]\n")
        assert len(both.nodes) == 4  # they share it
        assert holds(both)["n0"] == ("etcd", "nats")
        one = read.refusal(PD + f"services: [{etcd}, {{name: nats, type: nats}}]\n")
        assert one == (
            "services: etcd and nats share the node of the discovery plane:"
            " say dedicated on both or on neither"
        )

    def test_etcd_comes_with_dynamo_and_nats_only_with_a_plane_that_uses_it(self, read: Any) -> None:
        def services(more: str) -> list[str]:
            return [service.name for service in read.plan(PD + more).services]

        assert services("") == ["etcd"]
        assert services("dynamo: {request_plane: nats}\n") == ["etcd", "nats"]
        assert services("dynamo: {event_plane: nats}\n") == ["etcd", "nats"]
        assert services("dynamo: {request_plane: http, event_plane: zmq}\n") == ["etcd"]
        assert services("frontend: {type: sglang-router}\n") == []

    def test_without_a_word_the_discovery_plane_stands_on_head(self, read: Any) -> None:
        plan = read.plan(PD + "dynamo: {request_plane: nats}\n")
        assert [node.name for node in plan.nodes if {"etcd", "nats"} <= set(node.holds)] == ["n0"]

    @pytest.mark.parametrize(
        ("service", "sentence"),
        [
            ("{name: etcd, type: etcd, placement: {node: dedicate}}",
             "placement.node: expected head, infra, dedicated, prefill, decode, agg, workers, compute or all,"
             " got 'dedicate'; did you mean dedicated?"),
            ("{name: x, command: [x], placement: {node: dedicated}}",
             "placement: dedicated is for etcd, nats and mooncake-master:"
             " a service with nodes of its own says `nodes`"),
            ("{name: x, command: [x], placement: {node: agg}}",
             "placement: there is no role agg in this recipe"),
        ],
    )  # fmt: skip
    def test_a_service_that_cannot_stand_there(self, read: Any, service: str, sentence: str) -> None:
        said = read.complaint(PD + f"services:\n  - {service}\n")
        assert said == f"recipe.yaml:7: services[0].{sentence}"
