"""ADR-0001, "The replica is the orchestration unit": the decision, before a job runs."""

from __future__ import annotations

import json
from typing import Any

import pytest


class TestDecision:
    @pytest.mark.parametrize(("replicas", "size"), [(1, 1), (4, 1), (1, 4), (3, 2)])
    def test_a_job_is_replicas_times_nodes_per_replica(self, read: Any, replicas: int, size: int) -> None:
        plan = read.plan(f"engine: sglang\nreplicas: {replicas}\nnodes_per_replica: {size}\n")
        assert plan.slurm.nodes == replicas * size
        slices = [leader.worker_nodes for leader in plan.deployment.leaders("agg")]
        nodes = [f"n{number}" for number in range(replicas * size)]
        assert slices == [tuple(nodes[r * size : (r + 1) * size]) for r in range(replicas)]

    def test_one_endpoint_at_port_8080_on_each_head(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nreplicas: 2\nnodes_per_replica: 2\n")
        assert [p.http_port for p in plan.deployment.processes] == [8080, None, 8080, None]

    def test_one_process_on_one_node_is_the_default_replica(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nreplicas: 1\n")
        assert [(step.name, step.node, step.gpus) for step in plan.steps] == [
            ("agg_0", "n0", tuple(range(8)))
        ]
        assert plan.topology.total_nodes == 1

    @pytest.mark.parametrize("engine", ["sglang", "vllm"])
    @pytest.mark.parametrize("size", [1, 2])
    def test_the_port_is_8080_whatever_the_framework(self, read: Any, engine: str, size: int) -> None:
        plan = read.plan(f"engine: {engine}\nreplicas: 2\nnodes_per_replica: {size}\n")
        heads = [step for step in plan.steps if step.rank == 0]
        assert all("--port 8080" in " ".join(step.command.argv) for step in heads)
        assert {step.probe.port for step in heads} == {8080}

    def test_without_a_router_each_replica_is_reached_at_its_own_address(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nreplicas: 2\n")
        urls = [plan.deployment.url(process) for process in plan.deployment.leaders("agg")]
        assert urls == ["http://ip-n0:8080", "http://ip-n1:8080"]
        assert plan.public is None

    def test_slices_and_ports_stand_in_the_printed_plan(self, command: Any) -> None:
        text = "engine: sglang\nreplicas: 2\nnodes_per_replica: 2\n"
        workers = json.loads(command(text, "plan", "recipe.yaml", "--json").stdout)["workers"]
        assert [(w["nodes"], w["processes"][0]["ports"]["http"]) for w in workers] == [
            (["n0", "n1"], 8080), (["n2", "n3"], 8080),
        ]  # fmt: skip

    @pytest.mark.parametrize(("replicas", "size"), [(4, 1), (3, 2)])
    def test_the_request_is_for_all_of_them(self, read: Any, sbatch: Any, replicas: int, size: int) -> None:
        plan = read.plan(f"engine: sglang\nreplicas: {replicas}\nnodes_per_replica: {size}\n")
        assert f"--nodes={replicas * size}" in sbatch(plan)

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("replicas: 0", "replicas: expected a number from 1, got 0"),
            ("replicas: two", "replicas: expected a whole number, got 'two'"),
            ("replicas: true", "replicas: expected a whole number, got true"),
            ("replica: 2\nroles: {agg: {nodes: 1}}", "replica: unknown key; did you mean replicas?"),
            ("replicas: 2\nnodes_per_replica: 0", "nodes_per_replica: expected a number from 1, got 0"),
            ("replicas: 2\nnode_per_replica: 2",
             "node_per_replica: unknown key; did you mean nodes_per_replica?"),
            ("replicas: 2\nrouter: slang",
             "router: expected none, sglang or opentela, got 'slang'; did you mean sglang?"),
            ("replicas: 2\nframework_args: [--tp, 8]", "framework_args: expected text, got a list"),
            ("replicas: 2\nroles: {agg: {nodes: 1}}",
             "replicas: roles and replicas are two spellings of the workers: keep one"),
            ("replicas: 2\nfrontend: {type: sglang-router}",
             "frontend: frontend belongs to the roles form: with replicas, say router"),
            ("roles: {agg: {nodes: 1}}\nnodes_per_replica: 2",
             "nodes_per_replica: nodes_per_replica belongs to the replicas form: add replicas, or remove it"),
            ("roles: {agg: {nodes: 1}}\nframework_args: --tp 8",
             "framework_args: framework_args belongs to the replicas form: add replicas, or remove it"),
        ],
    )  # fmt: skip
    def test_what_is_no_replica(self, read: Any, text: str, sentence: str) -> None:
        line = 5 + ("\n" in text and sentence.partition(":")[0] == text.splitlines()[-1].partition(":")[0])
        assert read.complaint(f"engine: sglang\n{text}\n") == f"recipe.yaml:{line}: {sentence}"

    @pytest.mark.parametrize(
        ("engine", "sentence"),
        [
            ("mocker", "mocker has no HTTP endpoint of its own, so it cannot be a replica"),
            ("trtllm", "trtllm is no engine of replicas: describe its workers by roles"),
            ("tilert", "tilert is no engine of replicas: describe its workers by roles"),
        ],
    )
    def test_an_engine_that_cannot_be_one(self, read: Any, engine: str, sentence: str) -> None:
        assert read.refusal(f"engine: {engine}\nreplicas: 2\n") == f"engine: {sentence}"

    def test_opentela_wraps_the_head_node(self, read: Any) -> None:
        plan = read.plan(
            "engine: sglang\nreplicas: 2\nnodes_per_replica: 2\nrouter: opentela\n", otela_binary="/otela"
        )
        first = {step.name: step.command.argv[0] for step in plan.steps}
        assert first == {"agg_0": "/otela", "agg_0_r1": "python3", "agg_1": "/otela", "agg_1_r1": "python3"}

    def test_the_framework_router_balances_across_replicas(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nreplicas: 3\nrouter: sglang\n")
        (router,) = [step for step in plan.steps if step.kind == "frontend"]
        assert "--worker-urls http://ip-n0:8080 http://ip-n1:8080 http://ip-n2:8080" in " ".join(
            router.command.argv
        )
        assert plan.public.port == 30000

    def test_the_router_stands_on_the_first_node_of_the_job(self, read: Any) -> None:
        plan = read.plan("engine: vllm\nreplicas: 2\nnodes_per_replica: 2\nrouter: sglang\n")
        (router,) = [step for step in plan.steps if step.kind == "frontend"]
        words = " ".join(router.command.argv)
        assert router.node == "n0"
        # It balances across replicas and never within one: of each only the head.
        assert "--worker-urls http://ip-n0:8080 http://ip-n2:8080 --host" in words

    @pytest.mark.parametrize("router", ["", "router: none\n"])
    def test_without_a_word_there_is_neither_router_nor_mesh(self, read: Any, router: str) -> None:
        plan = read.plan("engine: sglang\nreplicas: 2\n" + router, otela_binary="/otela")
        assert [step.kind for step in plan.steps] == ["worker", "worker"]
        assert all(step.command.argv[0] == "python3" for step in plan.steps)

    def test_opentela_picks_jobs_and_the_router_picks_replicas(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nreplicas: 2\nrouter: opentela\n", otela_binary="/otela")
        assert not [step for step in plan.steps if step.kind == "frontend"]
        assert plan.public is None

    def test_opentela_without_its_program_is_refused(self, read: Any) -> None:
        assert read.complaint("engine: sglang\nreplicas: 2\nrouter: opentela\n") == (
            "recipe.yaml:6: router: OpenTela's program is unknown: name it in the cluster file, otela_binary"
        )

    def test_sharding_is_the_users_concern_and_never_inferred(self, read: Any) -> None:
        words = "--model-path /m --tp 16 --dp-size 2"
        plan = read.plan(f"engine: sglang\nreplicas: 1\nnodes_per_replica: 2\nframework_args: {words}\n")
        argv = " ".join(plan.steps[0].command.argv)
        assert words in argv
        bare = " ".join(read.plan("engine: sglang\nreplicas: 1\n").steps[0].command.argv)
        assert not any(flag in bare for flag in ("--tp", "--pp", "--dp", "--ep"))
