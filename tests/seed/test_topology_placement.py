"""Topology and Placement, "placement" to "srun_options": what can be checked before a job runs."""

from __future__ import annotations

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

    @pytest.mark.parametrize("section", ["frontend", "benchmark"])
    def test_another_word_is_refused(self, read: Any, section: str) -> None:
        said = read.refusal(AGG + f"{section}: {{placement: {{node: first}}}}\n")
        assert said.startswith(f"{section}.placement.node: expected head, ")

    def test_decode_nodes_need_a_decode_role(self, read: Any) -> None:
        said = read.refusal(AGG + ALONE % "first_decode")
        assert said == "frontend.placement.node: first_decode needs a decode role, and this recipe has none"

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


class TestResources:
    def test_the_example(self, read: Any) -> None:
        plan = read.plan(
            AGG + 'resources:\n  gpu_type: "gb200"\n  gpus_per_node: 4          # default: the cluster file\n'
            "  spread_workers: false\n  het_jobs: null            # null: cluster default\n"
        )
        assert (plan.gpu_type, plan.topology.gpus_per_node) == ("gb200", 4)

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


class TestCpuAllocation:
    def test_fewer_cpus_than_gpus_are_noted(self, read: Any) -> None:
        plan = read.plan(AGG + "sbatch_directives: {cpus-per-task: 2}\n")
        assert "2 CPUs of a node are asked for 8 GPUs: at least one a GPU keeps engines fed" in plan.notes

    @pytest.mark.parametrize(
        "more", ["cpus-per-task: 8", "cpus-per-gpu: 1", 'cpus-per-task: 2, exclusive: ""']
    )
    def test_the_remedies_of_the_page(self, read: Any, more: str) -> None:
        assert not any("CPUs" in note for note in read.plan(AGG + f"sbatch_directives: {{{more}}}\n").notes)


class TestComputedProperties:
    def test_disaggregated(self, read: Any) -> None:
        found = read.plan(
            "engine: sglang\nroles: {prefill: {nodes: 2, workers: 4}, decode: {nodes: 2, workers: 1}}\n"
        ).topology
        assert found.is_disaggregated
        assert found.total_nodes == 4
        assert (found.num_prefill, found.num_decode, found.num_agg) == (4, 1, 0)
        assert (found.gpus_per_prefill, found.gpus_per_decode, found.gpus_per_agg) == (4, 16, 0)
        assert (found.prefill_gpus, found.decode_gpus) == (16, 16)

    def test_aggregated(self, read: Any) -> None:
        found = read.plan("engine: sglang\nroles: {agg: {nodes: 3, workers: 3}}\n").topology
        assert not found.is_disaggregated
        assert (found.total_nodes, found.num_agg, found.gpus_per_agg) == (3, 3, 8)


SITE = {"default_account": "site", "default_partition": "p", "default_time_limit": "02:00:00"}


class TestSlurm:
    def test_the_example_overrides_the_cluster_file(self, read: Any) -> None:
        text = (
            'slurm:\n  time_limit: "04:00:00"    # Job time limit\n  account: "my-account"\n'
            '  partition: "batch"\n'
        )
        slurm = read.plan(AGG + text, **SITE).slurm
        assert (slurm.runtime, slurm.slurm_account, slurm.slurm_partition) == (240, "my-account", "batch")

    def test_unset_values_come_from_the_cluster_file(self, read: Any) -> None:
        slurm = read.plan(AGG, **SITE).slurm
        assert (slurm.runtime, slurm.slurm_account, slurm.slurm_partition) == (120, "site", "p")


class TestSbatchDirectives:
    def test_the_example(self, read: Any) -> None:
        slurm = read.plan(
            AGG + "sbatch_directives:\n"
            '  mail-user: "user@example.com"\n'
            '  mail-type: "END,FAIL"\n'
            '  comment: "Benchmark run for paper"\n'
            '  reservation: "my-reservation"\n'
            '  constraint: "volta"\n'
            '  exclusive: ""                       # Flag without value\n'
            '  gres: "gpu:8"\n'
        ).slurm
        assert slurm.slurm_extra == (
            "--gpus-per-node=8 --mail-user=user@example.com --mail-type=END,FAIL"
            " --reservation=my-reservation --exclusive"
        )
        assert (slurm.constraint, slurm.comment) == ("volta", "Benchmark run for paper")

    def test_dependency_and_qos(self, read: Any) -> None:
        slurm = read.plan(AGG + 'sbatch_directives: {dependency: "afterok:12345", qos: high}\n').slurm
        assert slurm.slurm_extra.endswith(" --dependency=afterok:12345")
        assert slurm.qos == "high"

    def test_what_cannot_reach_slurm_is_refused(self, read: Any) -> None:
        assert "sbatch_directives.job-name: the workflow sets it" in read.refusal(
            AGG + "sbatch_directives: {job-name: mine}\n"
        )


class TestSrunOptions:
    def test_the_example_applies_to_every_step(self, read: Any) -> None:
        plan = read.plan(
            AGG + 'srun_options:\n  cpu-bind: "none"\n  mpi: "pmix"\n  overlap: ""\n  ntasks-per-node: "1"\n'
        )
        wanted = {"cpu-bind": "none", "mpi": "pmix", "overlap": "", "ntasks-per-node": "1"}
        assert {step.kind for step in plan.steps} == {"service", "worker", "frontend"}
        assert all(wanted.items() <= step.srun_options.items() for step in plan.steps)

    def test_a_role_overrides_single_keys_of_its_workers(self, read: Any, workers: Any) -> None:
        plan = read.plan(
            "engine: sglang\n"
            'srun_options: {mem: "0", cpu-bind: none}\n'
            "roles:\n"
            "  prefill:\n    nodes: 1\n    srun_options:\n"
            '      mem: "64G"                     # Host memory per node in each prefill step\n'
            "  decode:\n    nodes: 1\n    srun_options:\n"
            '      mem: "32G"                     # Host memory per node in each decode step\n'
        )
        memory = {step.name: step.srun_options["mem"] for step in plan.steps}
        assert (memory["prefill_0"], memory["decode_0"]) == ("64G", "32G")
        assert {memory[step.name] for step in plan.steps if step.kind != "worker"} == {"0"}
        assert all(step.srun_options["cpu-bind"] == "none" for step in plan.steps)


class TestV1Spellings:
    @pytest.mark.parametrize(
        ("text", "key"),
        [
            ("resources: {prefill_nodes: 1}\n", "resources.prefill_nodes"),
            ("resources: {gpus_per_decode: 1}\n", "resources.gpus_per_decode"),
            ("resources: {decode_critical: false}\n", "resources.decode_critical"),
            ("backend: {type: sglang}\n", "backend"),
            ("infra: {etcd_nats_dedicated_node: true}\n", "infra"),
            ("frontend: {orchestrator_placement: head}\n", "frontend.orchestrator_placement"),
            ("frontend: {dedicated_node: true}\n", "frontend.dedicated_node"),
        ],
    )
    def test_they_name_their_successor_and_migrate(self, read: Any, text: str, key: str) -> None:
        said = read.refusal(AGG + text)
        assert said.startswith(f"{key}: a key of v1: say ")
        assert "`servesweep migrate`" in said
