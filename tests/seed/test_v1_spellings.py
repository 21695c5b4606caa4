"""Topology and Placement, the spellings of v1: named when they are read, and rewritten."""

from __future__ import annotations

from typing import Any

import pytest

from servesweep.migration.migrate import migrate_text

AGG = "engine: sglang\nroles: {agg: {nodes: 1}}\n"
HINT = "(`servesweep migrate` rewrites v1 recipes)"


class TestNamed:
    """A key of v1 in a recipe of today says what is written instead."""

    @pytest.mark.parametrize("mode", ["prefill", "decode", "agg"])
    @pytest.mark.parametrize(
        ("key", "today"),
        [
            ("{mode}_nodes", "roles.{mode}.nodes"),
            ("{mode}_workers", "roles.{mode}.workers"),
            ("gpus_per_{mode}", "roles.{mode}.gpus"),
            ("{mode}_critical", "roles.{mode}.critical"),
        ],
    )
    def test_the_worker_topology_of_resources(self, read: Any, mode: str, key: str, today: str) -> None:
        key, today = key.format(mode=mode), today.format(mode=mode)
        said = read.complaint(AGG + f"resources:\n  {key}: 1\n")
        assert said == f"recipe.yaml:7: resources.{key}: a key of v1: say {today} {HINT}"

    @pytest.mark.parametrize(
        "inside",
        [
            "type: sglang", "prefill_environment: {A: 1}", "decode_environment: {A: 1}",
            "sglang_config: {prefill: {}}", "prefill_extra_args: [a]", "kv_events_config: true",
        ],
    )  # fmt: skip
    def test_backend(self, read: Any, inside: str) -> None:
        said = read.complaint(AGG + f"backend:\n  {inside}\n")
        assert said == f"recipe.yaml:6: backend: a key of v1: say engine and roles {HINT}"

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("frontend:\n  orchestrator_placement: head\n",
             "frontend.orchestrator_placement: a key of v1: say placement.node"),
            ("frontend:\n  dedicated_node: true\n",
             "frontend.dedicated_node: a key of v1: say placement.node: dedicated"),
            ("benchmark: {type: manual,\n  client_placement: head}\n",
             "benchmark.client_placement: a key of v1: say placement.node"),
            ("benchmark: {type: manual,\n  client_dedicated_node: true}\n",
             "benchmark.client_dedicated_node: a key of v1: say placement.node: dedicated"),
        ],
    )  # fmt: skip
    def test_placement(self, read: Any, text: str, sentence: str) -> None:
        assert read.complaint(AGG + text) == f"recipe.yaml:7: {sentence} {HINT}"

    def test_the_dedicated_node_of_etcd_and_nats(self, read: Any) -> None:
        said = read.complaint(AGG + "infra: {etcd_nats_dedicated_node: true}\n")
        assert said == f"recipe.yaml:6: infra: a key of v1: say services etcd and nats {HINT}"


DISAGGREGATED = """\
name: demo
model: {path: /models/m, precision: fp8, container: image}
resources:
  gpu_type: h100
  gpus_per_node: 8
  prefill_nodes: 1
  prefill_workers: 2
  gpus_per_prefill: 2
  prefill_critical: false
  decode_nodes: 0
  decode_workers: 1
  gpus_per_decode: 4
backend:
  type: sglang
  prefill_environment: {A: "1"}
  decode_environment: {B: "2"}
  sglang_config:
    prefill: {tensor-parallel-size: 2}
    decode: {tensor-parallel-size: 4}
  kv_events_config: {prefill: true}
frontend: {orchestrator_placement: first_decode, enable_multiple_frontends: false}
benchmark: {type: manual, client_placement: last_decode}
"""
AGGREGATED = """\
name: demo
model: {path: /models/m, precision: fp8, container: image}
resources: {gpu_type: h100, gpus_per_node: 8, agg_nodes: 1, agg_workers: 1, gpus_per_agg: 4}
backend:
  type: trtllm
  aggregated_environment: {A: "1"}
  trtllm_config: {aggregated: {max_batch_size: 4}}
  aggregated_extra_args: [--tool_parser, qwen3]
frontend: {type: trtllm_serve, dedicated_node: true, enable_multiple_frontends: false}
benchmark: {type: manual, client_dedicated_node: true}
"""


class TestRewritten:
    """`servesweep migrate` turns them into roles and placement, which plan as v1 meant them."""

    def test_roles_colocation_and_placement(self, read: Any, workers: Any) -> None:
        plan = read.plan(migrate_text(DISAGGREGATED, "v1.yaml").text, head="")
        roles = plan.resolved.roles
        assert (roles.prefill.nodes, roles.decode.nodes) == (1, "colocate")
        assert (roles.prefill.critical, roles.decode.critical) == (False, True)
        assert (roles.prefill.env, roles.decode.env) == ({"A": "1"}, {"B": "2"})
        assert (roles.prefill.kv_events.topic, roles.decode.kv_events) == ("kv-events", None)
        assert [s.gpus for s in workers(plan, "prefill")] == [(0, 1), (2, 3)]
        assert [s.gpus for s in workers(plan, "decode")] == [(4, 5, 6, 7)]
        assert plan.resolved.frontend.placement.node == "first_decode"
        assert plan.resolved.benchmark.placement.node == "last_decode"

    def test_dedicated_nodes_and_arguments_of_the_server(self, read: Any, workers: Any) -> None:
        plan = read.plan(migrate_text(AGGREGATED, "v1.yaml").text, head="")
        assert plan.topology.total_nodes == 1 + 2  # one for the frontend, one for the client
        assert (plan.topology.num_agg, plan.topology.gpus_per_agg) == (1, 4)
        step = workers(plan, "agg")[0]
        assert step.command.argv[-2:] == ("--tool_parser", "qwen3")
        assert step.command.env["A"] == "1"

    def test_the_dedicated_node_of_the_discovery_plane(self, read: Any) -> None:
        text = migrate_text(DISAGGREGATED + "infra: {etcd_nats_dedicated_node: true}\n", "v1.yaml").text
        plan = read.plan(text, head="")
        assert plan.topology.total_nodes == 1 + 1
        assert (plan.deployment.infra, plan.deployment.head) == ("n0", "n1")

    @pytest.mark.parametrize("text", [DISAGGREGATED, AGGREGATED])
    def test_once_is_enough(self, text: str) -> None:
        once = migrate_text(text, "v1.yaml").text
        assert migrate_text(once, "v1.yaml").text == once
