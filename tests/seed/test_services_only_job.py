"""Topology and Placement, the services-only job of "resources", before a job runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any


class TestServicesOnly:
    TEXT = (
        "frontend: {type: none}\n"
        "services:\n"
        "  - {name: ray, type: ray, nodes: 3}\n"
        "  - {name: trainer, command: [train], placement: {pool: ray}, terminal: true}\n"
        "benchmark: {type: manual}\n"
    )

    def test_pools_alone_make_the_job(self, read: Any) -> None:
        plan = read.plan(self.TEXT)
        assert [node.name for node in plan.nodes] == ["n0", "n1", "n2"]
        assert plan.deployment.head == "n0"  # the first node of the first pool
        assert plan.public is None
        assert (plan.expected.prefill, plan.expected.decode) == (0, 0)  # no worker-count gate
        assert not [step for step in plan.steps if step.kind in ("worker", "frontend")]

    def test_without_pools_or_with_a_frontend_workers_are_missed(self, read: Any) -> None:
        assert "the workers are missing" in read.refusal(self.TEXT.replace("nodes: 3", "enabled: true"))
        assert "the workers are missing" in read.refusal(self.TEXT.replace("type: none", "type: dynamo"))

    def test_an_engine_has_nothing_to_run(self, read: Any) -> None:
        assert "a job of services alone has no engine" in read.refusal("engine: sglang\n" + self.TEXT)

    def test_its_topology_counts_no_worker(self, read: Any, sbatch: Any) -> None:
        plan = read.plan(self.TEXT)
        found = asdict(plan.topology)
        assert (found.pop("total_nodes"), found.pop("gpus_per_node"), found.pop("is_disaggregated")) == (
            3, 8, False,
        )  # fmt: skip
        assert set(found.values()) == {0}
        assert "--nodes=3" in sbatch(plan)

    def test_readiness_of_its_services_is_the_gate_that_is_left(self, read: Any) -> None:
        plan = read.plan(self.TEXT.replace("nodes: 3", "nodes: 3, readiness: {port: 6379}"))
        (ray, _) = plan.resolved.services
        assert (ray.readiness.port, ray.readiness.timeout_seconds) == (6379, 120)
        assert read.refusal(self.TEXT.replace("nodes: 3", "nodes: 3, readiness: {port: 1, file: a}")) == (
            "services[0].readiness: readiness is asked in exactly one way: port, tcp, http, log or file"
        )

    def test_a_client_of_an_endpoint_that_is_not_the_job_s(self, read: Any) -> None:
        text = "frontend: {type: none}\nservices: [{name: probe, nodes: 1, command: [sleep]}]\n"
        plan = read.plan(text + "benchmark: {type: custom, command: 'curl http://elsewhere/v1/models'}\n")
        assert (plan.public, [point.id for point in plan.points]) == (None, ["custom"])
        said = read.refusal(text + "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1}\n")
        assert said == "benchmark.type: sa-bench needs a public API, and frontend none has none"

    def test_pools_follow_each_other_in_order_of_declaration(self, read: Any) -> None:
        plan = read.plan(
            "frontend: {type: none}\n"
            "services: [{name: b, nodes: 2, command: [x]}, {name: a, nodes: 1, command: [x]}]\n"
        )
        assert {s.name: s.on for s in plan.services} == {"b": ("n0", "n1"), "a": ("n2",)}

    def test_there_is_no_decode_node_to_stand_on(self, read: Any) -> None:
        text = self.TEXT.replace("type: manual", "type: manual, placement: {node: last_decode}")
        assert read.refusal(text) == (
            "benchmark.placement.node: last_decode needs a decode role, and this recipe has none"
        )
