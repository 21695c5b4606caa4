"""The Slurm request, the computed properties, the ports and the page that a person reads."""

from collections.abc import Callable

import pytest

from servesweep.plan.node_map import describe
from servesweep.plan.plan import Plan, SlurmRequest, Topology

Planner = Callable[..., Plan]

PD = (
    "engine: sglang\n"
    "resources: {gpus_per_node: 4}\n"
    "roles: {prefill: {nodes: 1, workers: 2, gpus: 2, args: {tp: 2}},"
    " decode: {nodes: 2, workers: 1, gpus: 8, args: {tp: 8}}}\n"
)


def test_the_request_in_the_words_of_the_executor(plan: Planner) -> None:
    found = plan(
        PD + "slurm: {time_limit: 1-00:30:00, account: lab, partition: debug}\n",
        cpus_per_gpu=12,
        mem_mb_per_node=512000,
        use_exclusive_sbatch_directive=True,
    )
    assert found.slurm == SlurmRequest(
        nodes=3,
        tasks_per_node=2,
        cpus_per_task=24,  # 4 GPUs x 12 CPUs over 2 tasks
        runtime=24 * 60 + 30,
        mem_mb=512000,
        slurm_account="lab",
        slurm_partition="debug",
        slurm_extra="--gpus-per-node=4 --exclusive",
    )


def test_what_a_recipe_does_not_ask_comes_from_the_cluster_file(plan: Planner) -> None:
    found = plan(
        "engine: sglang\nroles: {agg: {nodes: 1}}\n",
        default_account="site",
        default_time_limit=45,
        gpus_per_node=1,
        use_gpus_per_node_directive=False,
    )
    assert found.slurm == SlurmRequest(
        nodes=1,
        tasks_per_node=2,
        cpus_per_task=1,  # never less than a CPU a task
        runtime=45,
        slurm_account="site",
        slurm_partition="batch",
        slurm_extra="",
    )
    assert found.gpu_type == "h100"


def test_computed_properties_of_disaggregated_workers(plan: Planner) -> None:
    assert plan(PD).topology == Topology(
        is_disaggregated=True,
        total_nodes=3,
        gpus_per_node=4,
        total_gpus=12,
        num_prefill=2,
        num_decode=1,
        num_agg=0,
        gpus_per_prefill=2,
        gpus_per_decode=8,
        gpus_per_agg=0,
        prefill_gpus=4,
        decode_gpus=8,
        agg_gpus=0,
    )


def test_computed_properties_count_the_gpus_that_workers_hold(plan: Planner) -> None:
    found = plan("engine: sglang\nroles: {agg: {nodes: 2, workers: 3, gpus: 4}}\n").topology
    assert (found.is_disaggregated, found.total_nodes, found.num_agg) == (False, 2, 3)
    assert (found.gpus_per_agg, found.agg_gpus, found.total_gpus) == (4, 12, 12)
    replicas = plan("engine: sglang\nreplicas: 3\nnodes_per_replica: 2\n").topology
    assert (replicas.total_nodes, replicas.num_agg, replicas.gpus_per_agg) == (6, 3, 16)


def test_colocated_decode_takes_no_node_of_its_own(plan: Planner) -> None:
    found = plan(
        "engine: sglang\nroles: {prefill: {nodes: 1, gpus: 4}, decode: {nodes: colocate, gpus: 4}}\n"
    )
    assert (found.topology.total_nodes, found.slurm.nodes) == (1, 1)
    assert [step.gpus for step in found.steps if step.kind == "worker"] == [(0, 1, 2, 3), (4, 5, 6, 7)]


def test_idle_nodes_are_noted(plan: Planner) -> None:
    found = plan("engine: sglang\nroles: {agg: {nodes: 2, workers: 1, gpus: 4}}\n")
    assert found.notes[0] == "no worker runs on n1"


@pytest.mark.parametrize(
    "body",
    [
        "engine: vllm\nroles: {prefill: {nodes: 2, workers: 8, gpus: 2}, decode: {nodes: 4, workers: 2}}\n",
        "engine: simulator\nreplicas: 4\nrouter: sglang\n",
        "engine: simulator\nroles: {agg: {nodes: 3, workers: 24}}\nfrontend: {type: vllm-router}\n",
    ],
)
def test_on_one_machine_no_port_is_used_twice(plan: Planner, body: str) -> None:
    found = plan(body, launcher="local")
    ports = [step.probe.port for step in found.steps if step.probe]
    for process in found.deployment.processes:
        ports += [process.nixl_port, process.nccl_port, process.vllm_port]
        ports += [process.kv_events_port or 0, process.http_port or 0, process.system_port]
        if process.is_leader:
            ports += [process.bootstrap_port or 0, process.dist_init_port or 0]
    asked = [step.probe.port for step in found.steps if step.probe and step.kind == "worker"]
    used = [port for port in ports if port]
    # A worker's probe asks a port that its process has.
    assert len(used) - len(asked) == len(set(used))


def test_on_a_cluster_every_node_has_the_same_ports(plan: Planner) -> None:
    found = plan("engine: simulator\nreplicas: 4\nrouter: sglang\n")
    assert [step.probe.port for step in found.steps if step.probe] == [8080, 8080, 8080, 8080, 30000]


def test_the_page_that_a_person_reads(plan: Planner) -> None:
    body = PD + "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1x4}\nslurm: {account: lab}\n"
    assert describe(plan(body)) == (
        "demo  sglang under dynamo: 2 prefill x 2 GPU + 1 decode x 8 GPU, model tiny\n"
        "  load    sa-bench isl=8 osl=8\n"
        "  points  c1, c4\n"
        "  slurm   3 nodes, 60 min, partition batch, account lab, --gpus-per-node=4\n"
        "  n0      head, etcd, prefill_0[0-1], prefill_1[2-3], frontend_0, client\n"
        "  n1      decode_0[0-3]\n"
        "  n2      decode_0_r1[0-3]"
    )


def test_the_page_of_a_local_run_has_no_request_and_tells_notes(plan: Planner) -> None:
    body = "engine: simulator\nroles: {agg: {nodes: 2, workers: 1, gpus: 1}}\nfrontend: {type: direct}\n"
    assert describe(plan(body, launcher="local")) == (
        "demo  simulator under direct: 1 agg x 1 GPU, model tiny\n"
        "  load    manual\n"
        "  points  manual\n"
        "  n0      head, agg_0[0], client\n"
        "  n1      idle\n"
        "  note    no worker runs on n1"
    )


def test_one_node_is_not_said_in_the_plural(plan: Planner) -> None:
    assert "slurm   1 node, 60 min" in describe(plan("engine: sglang\nroles: {agg: {nodes: 1}}\n"))
