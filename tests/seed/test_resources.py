"""Topology and Placement, "resources" and "CPU allocation visibility", before a job runs."""

from __future__ import annotations

from typing import Any

import pytest

PD = "engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: 2, workers: 2}}\n"
AGG = "engine: sglang\nroles: {agg: {nodes: 1}}\n"
ALONE = "frontend: {enable_multiple_frontends: false, placement: {node: %s}}\n"


class TestResources:
    def test_the_example(self, read: Any) -> None:
        plan = read.plan(
            AGG + 'resources:\n  gpu_type: "gb200"\n  gpus_per_node: 4          # default: the cluster file\n'
            "  spread_workers: false\n  het_jobs: null            # null: cluster default\n"
        )
        assert (plan.gpu_type, plan.topology.gpus_per_node) == ("gb200", 4)

    def test_null_is_what_leaving_het_jobs_out_is(self, read: Any) -> None:
        said, unsaid = (read.plan(PD + text) for text in ("resources: {het_jobs: null}\n", ""))
        assert (said.slurm, said.steps) == (unsaid.slurm, unsaid.steps)

    @pytest.mark.parametrize(
        ("key", "sentence"),
        [
            ("gpus_per_node: 0", "gpus_per_node: expected a number from 1, got 0"),
            ("gpus_per_node: four", "gpus_per_node: expected a whole number, got 'four'"),
            ("gpu_per_node: 4", "gpu_per_node: unknown key; did you mean gpus_per_node?"),
            ("gpu_type: 100", 'gpu_type: expected text, got the number 100: write it in quotes, "100"'),
            ("gpu_type: ", "gpu_type: the key has no value: write one, or remove the key"),
            ("spread_workers: 1", "spread_workers: expected true or false, got 1"),
            ("spread_worker: true", "spread_worker: unknown key; did you mean spread_workers?"),
            ("het_jobs: maybe", "het_jobs: expected true or false, got 'maybe'"),
        ],
    )  # fmt: skip
    def test_a_wrong_value(self, read: Any, key: str, sentence: str) -> None:
        assert read.complaint(AGG + f"resources:\n  {key}\n") == f"recipe.yaml:7: resources.{sentence}"

    def test_gpu_type_default_from_the_cluster_file(self, read: Any) -> None:
        assert read.plan(AGG, default_gpu_type="h100").gpu_type == "h100"
        assert read.plan(AGG + "resources: {gpu_type: b200}\n", default_gpu_type="h100").gpu_type == "b200"

    def test_gpus_per_node_shape_the_workers_and_the_request(self, read: Any, sbatch: Any) -> None:
        plan = read.plan(AGG + "resources: {gpus_per_node: 4}\n", gpus_per_node=8)
        assert plan.topology.gpus_per_agg == 4
        assert "--gpus-per-node=4" in sbatch(plan)

    @pytest.mark.parametrize(
        ("more", "sentence"),
        [
            ("frontend: {placement: {node: dedicated}}\n",
             "a heterogeneous job has no node for a dedicated frontend or client"),
            ("benchmark: {type: manual, placement: {node: dedicated}}\n",
             "a heterogeneous job has no node for a dedicated frontend or client"),
            ("services: [{name: pool, nodes: 1, command: [x]}]\n",
             "a heterogeneous job has no component for the pools of services"),
        ],
    )  # fmt: skip
    def test_what_a_heterogeneous_job_cannot_hold(self, read: Any, more: str, sentence: str) -> None:
        said = read.refusal(PD + "resources: {het_jobs: true}\n" + more)
        assert said == f"resources.het_jobs: {sentence}"
        assert ":" not in read.plan(PD + more, use_het_jobs=True).slurm.slurm_extra.split()

    def test_gpus_per_node_default_from_the_cluster_file(self, read: Any) -> None:
        assert read.plan(AGG, gpus_per_node=4).topology.gpus_per_node == 4

    def test_het_jobs_null_defers_to_the_cluster(self, read: Any) -> None:
        het = ":"
        assert het not in read.plan(PD).slurm.slurm_extra.split()
        assert het in read.plan(PD, use_het_jobs=True).slurm.slurm_extra.split()
        assert (
            het not in read.plan(PD + "resources: {het_jobs: false}\n", use_het_jobs=True).slurm.slurm_extra
        )
        plan = read.plan(PD + "resources: {het_jobs: true}\n")
        assert (plan.slurm.nodes, plan.topology.total_nodes) == (1, 3)
        assert plan.slurm.slurm_extra == (
            "--gpus-per-node=8 : -N2 -t60 --ntasks-per-node=2 -c4 --gpus-per-node=8"
        )
        # The cluster's default leaves alone what cannot be one; the recipe's word is refused.
        assert het not in read.plan(AGG, use_het_jobs=True).slurm.slurm_extra.split()
        assert "resources.het_jobs" in read.refusal(AGG + "resources: {het_jobs: true}\n")

    def test_total_nodes_is_the_sum(self, read: Any) -> None:
        plan = read.plan(
            PD + ALONE % "dedicated" + "benchmark: {placement: {node: dedicated}}\n"
            "services:\n"
            "  - {name: etcd, type: etcd, placement: {node: dedicated}}\n"
            "  - {name: train, nodes: 2, command: [train]}\n"
            "  - {name: nap, nodes: 1, command: [nap]}\n"
        )
        # roles 3, pools 2 + 1, and one each for the frontend, the client and the discovery plane
        assert plan.topology.total_nodes == plan.slurm.nodes == len(plan.nodes) == 3 + 3 + 3

    def test_pools_come_after_the_roles_in_order_of_declaration(self, read: Any) -> None:
        services = "services: [{name: b, nodes: 2, command: [x]}, {name: a, nodes: 1, command: [x]}]\n"
        plan = read.plan(PD + services)
        assert {service.name: service.on for service in plan.services if service.nodes} == {
            "b": ("n3", "n4"), "a": ("n5",),
        }  # fmt: skip

    @pytest.mark.parametrize("frontend", [0, 1])
    @pytest.mark.parametrize("client", [0, 1])
    @pytest.mark.parametrize("discovery", [0, 1])
    @pytest.mark.parametrize("pool", [0, 2])
    def test_total_nodes_for_every_choice(
        self, read: Any, sbatch: Any, frontend: int, client: int, discovery: int, pool: int
    ) -> None:
        place = "placement: {node: dedicated}"
        etcd = f"  - {{name: etcd, type: etcd{', ' + place if discovery else ''}}}\n"
        pools = f"  - {{name: pool, nodes: {pool}, command: [x]}}\n" if pool else ""
        plan = read.plan(
            PD
            + f"frontend: {{enable_multiple_frontends: false{', ' + place if frontend else ''}}}\n"
            + f"benchmark: {{type: manual{', ' + place if client else ''}}}\n"
            + f"services:\n{etcd}{pools}"
        )
        total = 3 + pool + frontend + client + discovery
        assert plan.topology.total_nodes == len(plan.nodes) == total
        assert f"--nodes={total}" in sbatch(plan)

    def test_a_service_that_is_off_owns_no_nodes(self, read: Any) -> None:
        plan = read.plan(PD + "services: [{name: pool, nodes: 2, enabled: false, command: [x]}]\n")
        assert plan.topology.total_nodes == 3

    def test_pools_come_before_the_client_s_own_node(self, read: Any) -> None:
        plan = read.plan(
            PD + "services: [{name: pool, nodes: 1, command: [x]}]\n"
            "benchmark: {type: manual, placement: {node: dedicated}}\n"
        )
        assert {node.name: node.holds for node in plan.nodes if node.name in ("n3", "n4")} == {
            "n3": ("pool",), "n4": ("client",),
        }  # fmt: skip

    def test_the_printed_plan_has_the_request_and_the_node_map(self, command: Any) -> None:
        services = "services: [{name: pool, nodes: 1, command: [x]}]\n"
        shown = command(PD + services, "plan", "recipe.yaml").stdout.splitlines()
        assert "  sbatch  -t 60 --nodes=4 --ntasks-per-node=2 --cpus-per-task=4 --gpus-per-node=8" in shown
        assert [line for line in shown if line.startswith(("  n0", "  n1", "  n2", "  n3"))] == [
            "  n0      head, etcd, prefill_0[0-7], frontend_0, client",
            "  n1      decode_0[0-7]",
            "  n2      decode_1[0-7]",
            "  n3      pool",
        ]


class TestCpuAllocation:
    def test_fewer_cpus_than_gpus_are_noted(self, read: Any) -> None:
        plan = read.plan(AGG + "sbatch_directives: {cpus-per-task: 2}\n")
        assert "2 CPUs of a node are asked for 8 GPUs: at least one a GPU keeps engines fed" in plan.notes

    @pytest.mark.parametrize(
        "more", ["cpus-per-task: 8", "cpus-per-gpu: 1", 'cpus-per-task: 2, exclusive: ""']
    )
    def test_the_remedies_of_the_page(self, read: Any, more: str) -> None:
        assert not any("CPUs" in note for note in read.plan(AGG + f"sbatch_directives: {{{more}}}\n").notes)

    def test_the_baseline_is_one_cpu_a_gpu_of_the_workers(self, read: Any) -> None:
        text = "engine: sglang\nroles: {agg: {nodes: 1, gpus: %s}}\nsbatch_directives: {cpus-per-task: 4}\n"
        assert not any("CPUs" in note for note in read.plan(text % 4).notes)
        assert any(note.startswith("4 CPUs of a node") for note in read.plan(text % 5).notes)

    def test_the_default_request_meets_it(self, read: Any) -> None:
        plan = read.plan(AGG)
        assert plan.slurm.tasks_per_node * plan.slurm.cpus_per_task == 8
        assert not [note for note in plan.notes if "CPU" in note]

    @pytest.mark.parametrize("asked", ["gres: 'gpu:4'", "gres: 'gpu:h100:4'", "gpus-per-node: 4"])
    def test_fewer_gpus_than_the_workers_have_are_noted(self, read: Any, asked: str) -> None:
        plan = read.plan(AGG + f"sbatch_directives: {{{asked}}}\n")
        assert "4 GPUs of a node are asked of Slurm, and the workers on one have 8" in plan.notes
