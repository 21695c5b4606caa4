"""ADR-0001, "The replica is the orchestration unit": what can be checked before a job runs."""

from __future__ import annotations

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

    def test_sharding_is_the_users_concern_and_never_inferred(self, read: Any) -> None:
        words = "--model-path /m --tp 16 --dp-size 2"
        plan = read.plan(f"engine: sglang\nreplicas: 1\nnodes_per_replica: 2\nframework_args: {words}\n")
        argv = " ".join(plan.steps[0].command.argv)
        assert argv.endswith(words)
        bare = " ".join(read.plan("engine: sglang\nreplicas: 1\n").steps[0].command.argv)
        assert not any(flag in bare for flag in ("--tp", "--pp", "--dp", "--ep"))


class TestSupported:
    def test_multi_node_single_replica_by_sglang(self, read: Any) -> None:
        plan = read.plan("engine: sglang\nreplicas: 1\nnodes_per_replica: 2\n")
        argv = [" ".join(step.command.argv) for step in plan.steps]
        assert all("--dist-init-addr ip-n0:" in words and "--nnodes 2" in words for words in argv)
        assert ["--node-rank 0" in words for words in argv] == [True, False]

    def test_multi_node_single_replica_by_vllm_is_a_ray_cluster(self, read: Any) -> None:
        plan = read.plan("engine: vllm\nreplicas: 1\nnodes_per_replica: 2\n")
        head, follower = (" ".join(step.command.argv) for step in plan.steps)
        assert "ray start --head" in head
        assert "vllm serve --port 8080 --distributed-executor-backend ray" in head
        assert follower.startswith("ray start --address=ip-n0:6379")


class TestDeliberatelyNotSupported:
    @pytest.mark.parametrize("key", ["processes_per_node", "replicas_per_node", "gpus_per_replica"])
    def test_multiple_framework_processes_on_a_single_node(self, read: Any, key: str) -> None:
        said = read.refusal(f"engine: sglang\nreplicas: 4\n{key}: 4\n")
        assert said.startswith(
            f"{key}: multiple framework processes on a single node are deliberately not supported"
        )

    def test_half_a_node_is_no_replica(self, read: Any) -> None:
        assert read.refusal("engine: sglang\nreplicas: 4\nnodes_per_replica: 0.5\n").startswith(
            "nodes_per_replica: expected a whole number"
        )

    def test_a_port_of_the_users_own_is_refused(self, read: Any) -> None:
        said = read.refusal("engine: vllm\nreplicas: 1\nframework_args: --port 9000\n")
        assert said == (
            "framework_args: every replica serves on port 8080, which servesweep sets: remove --port"
        )

    def test_a_router_over_one_replica_degrades_to_none_and_the_plan_says_so(self, read: Any) -> None:
        plan = read.plan("engine: vllm\nreplicas: 1\nrouter: sglang\n")
        assert [step.kind for step in plan.steps] == ["worker"]
        assert (plan.public.node, plan.public.port) == ("n0", 8080)
        assert plan.notes == (
            "router: sglang is left out: one replica has nothing to balance, and is served directly",
        )


class TestAlternatives:
    @pytest.mark.parametrize("key", ["tp", "pp", "dp", "ep", "tensor_parallel_size", "expert_parallel_size"])
    def test_parallelism_is_no_field_of_the_topology(self, read: Any, key: str) -> None:
        said = read.refusal(f"engine: sglang\nreplicas: 1\n{key}: 8\n")
        assert said == (
            f"{key}: sharding is the framework's own concern: write its flags in framework_args;"
            " none is inferred"
        )
