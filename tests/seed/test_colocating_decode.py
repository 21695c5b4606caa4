"""Topology and Placement, "Colocating decode on the prefill nodes": what can be checked before a job runs."""

from __future__ import annotations

from typing import Any

import pytest

COLOCATE = """\
resources:
  gpu_type: "h100"
  gpus_per_node: 8

engine: sglang
roles:
  prefill:
    nodes: 1
    workers: 2
    gpus: 2          # 4 of the node's 8 GPUs
    args:
      tensor-parallel-size: 2
  decode:
    nodes: colocate
    workers: 1
    gpus: 4          # the remaining 4 GPUs
    args:
      tensor-parallel-size: 4
"""


class TestColocatingDecode:
    def test_the_example(self, read: Any, workers: Any) -> None:
        plan = read.plan(COLOCATE)
        assert [node.name for node in plan.nodes] == ["n0"]
        assert [step.gpus for step in workers(plan, "prefill")] == [(0, 1), (2, 3)]
        assert [step.gpus for step in workers(plan, "decode")] == [(4, 5, 6, 7)]

    @pytest.mark.parametrize("mode", ["prefill", "decode"])
    def test_gpus_must_be_given_on_both_roles(self, read: Any, mode: str) -> None:
        text = COLOCATE.replace("gpus: 2 ", "#" if mode == "prefill" else "gpus: 2 ")
        text = text.replace("gpus: 4 ", "#" if mode == "decode" else "gpus: 4 ")
        assert f"colocate needs the GPUs of a worker: say roles.{mode}.gpus" in read.refusal(text)

    def test_a_split_that_does_not_fit_fails_by_real_packing(self, read: Any) -> None:
        # 3 + 3 GPUs leave 2, so that the sum fits and the packing does not.
        text = COLOCATE.replace("gpus: 2 ", "gpus: 3 ").replace("gpus: 4 ", "gpus: 3 ")
        text = text.replace("tensor-parallel-size: 4", "tensor-parallel-size: 3")
        assert read.refusal(text).startswith(
            "roles.decode.nodes: 2 prefill x 3 GPUs and 1 decode x 3 GPUs do not fit on 1 node of 8 GPUs"
        )

    def test_only_decode_colocates(self, read: Any) -> None:
        assert "only decode can colocate" in read.refusal(
            "engine: sglang\nroles: {prefill: {nodes: colocate, gpus: 1}, decode: {nodes: 1, gpus: 1}}\n"
        )

    def test_it_reserves_no_nodes(self, read: Any) -> None:
        plan = read.plan(COLOCATE)
        assert (plan.topology.total_nodes, plan.slurm.nodes) == (1, 1)
        assert (plan.topology.prefill_gpus, plan.topology.decode_gpus) == (4, 4)

    def test_both_roles_without_gpus_are_told_at_once(self, read: Any) -> None:
        roles = "roles:\n  prefill: {nodes: 1}\n  decode:\n    nodes: colocate\n"
        assert read.complaint("engine: sglang\n" + roles) == (
            "recipe.yaml:8: roles.decode.nodes: colocate needs the GPUs of a worker:"
            " say roles.prefill.gpus and roles.decode.gpus"
        )

    def test_a_split_may_fill_the_free_gpus_exactly_over_several_nodes(self, read: Any, workers: Any) -> None:
        roles = "roles: {prefill: {nodes: 2, workers: 3, gpus: 4}, decode: {nodes: colocate, gpus: 4}}\n"
        plan = read.plan("engine: sglang\n" + roles)
        assert [(step.node, step.gpus) for step in workers(plan, "decode")] == [("n1", (4, 5, 6, 7))]

    def test_an_oversubscribed_split_is_refused_with_its_numbers_and_line(self, read: Any) -> None:
        text = COLOCATE.replace("workers: 1\n", "workers: 2\n")
        assert read.complaint(text) == (
            "recipe.yaml:17: roles.decode.nodes: 2 prefill x 2 GPUs and 2 decode x 4 GPUs do not fit on"
            " 1 node of 8 GPUs: decode worker 1 finds no place, 2 nodes are needed"
            " (colocated decode workers get the GPUs that prefill leaves free on a node)"
        )

    def test_the_plan_command_catches_it(self, command: Any) -> None:
        result = command(COLOCATE.replace("gpus: 4 ", "gpus: 5 "), "plan", "recipe.yaml")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("recipe.yaml:17: roles.decode.nodes: 2 prefill x 2 GPUs and 1 decode")
        assert command(COLOCATE, "plan", "recipe.yaml").stderr == ""

    @pytest.mark.parametrize("mode", ["prefill", "agg"])
    def test_another_role_never_colocates(self, read: Any, mode: str) -> None:
        roles = {
            "prefill": "{prefill: {nodes: colocate, gpus: 1}, decode: {nodes: 1, gpus: 1}}",
            "agg": "{agg: {nodes: colocate, gpus: 1}}",
        }
        said = read.refusal(f"engine: sglang\nroles: {roles[mode]}\n")
        assert said == f"roles.{mode}.nodes: only decode can colocate"

    def test_a_misspelt_word_names_the_right_one(self, read: Any) -> None:
        said = read.refusal(COLOCATE.replace("nodes: colocate", "nodes: colocated"))
        assert said == (
            "roles.decode.nodes: expected a number of nodes from 1, or `colocate` for decode, got 'colocated'"
        )

    def test_it_is_no_heterogeneous_job(self, read: Any) -> None:
        text = COLOCATE.replace("gpus_per_node: 8\n", "gpus_per_node: 8\n  het_jobs: true\n")
        assert read.refusal(text) == (
            "resources.het_jobs: decode colocates with prefill, so there is no second component"
            " for a heterogeneous job"
        )
