"""Prefill and decode as components of a heterogeneous job: what keeps a configuration out of one."""

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan

HET = "resources: {gpus_per_node: 8, het_jobs: true}\n"
TWO = (
    "roles: {prefill: {nodes: 1, workers: 1, gpus: 4, args: {tensor-parallel-size: 4}},"
    " decode: {nodes: 1, workers: 1, gpus: 4, args: {tensor-parallel-size: 4}}}\n"
)
TOGETHER = "engine: {type: vllm, allow_prefill_decode_colocation: true}\n" + TWO
ACROSS = (
    "engine: trtllm\nroles: {prefill: {nodes: 1, workers: 1, gpus: 16, args: {tensor_parallel_size: 16}},"
    " decode: {nodes: 2, workers: 1, gpus: 8, args: {tensor_parallel_size: 8}}}\n"
)


def test_roles_that_vllm_packs_together_have_no_second_component(complaint: Callable[..., str]) -> None:
    assert "there is no second component for a heterogeneous job" in complaint(HET + TOGETHER)


def test_the_cluster_s_wish_is_for_jobs_that_can_be(plan: Callable[..., Plan]) -> None:
    assert plan(TOGETHER, use_het_jobs=True).slurm.nodes == 1
    assert ":" not in plan(TOGETHER, use_het_jobs=True).slurm.slurm_extra
    assert ":" not in plan(ACROSS, use_het_jobs=True).slurm.slurm_extra


def test_a_worker_lies_in_one_component(complaint: Callable[..., str]) -> None:
    assert "prefill_0 lies in both components of the heterogeneous job" in complaint(HET + ACROSS)


def test_both_components_get_the_generic_resources(plan: Callable[..., Plan]) -> None:
    found = plan(HET + "engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: 2}}\n"
                 'sbatch_directives: {gres: "nvme:1"}\n').slurm  # fmt: skip
    first, second = found.slurm_extra.split(" : ")
    assert "--gres''=nvme:1" in first
    assert "--gres''=nvme:1" in second
    assert found.gres is None


def test_nodes_cannot_be_named_for_both(complaint: Callable[..., str]) -> None:
    text = HET + "engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: 2}}\n"
    told = complaint(text + 'sbatch_directives: {nodelist: "a[1-3]"}\n')
    assert told.endswith("each component of a heterogeneous job would ask for these nodes: use constraint")


@pytest.mark.parametrize(("decode", "nodes"), [("true", 1), ("false", 2)])
def test_each_role_s_own_options_allow_colocation(plan: Callable[..., Plan], decode: str, nodes: int) -> None:
    option = "allow_prefill_decode_colocation"
    found = plan(
        "roles:\n"
        f"  prefill: {{engine: {{type: vllm, {option}: true}}, nodes: 1, workers: 1, gpus: 4}}\n"
        f"  decode: {{engine: {{type: vllm, {option}: {decode}}}, nodes: 1, workers: 1, gpus: 4}}\n"
        "frontend: {type: vllm-router}\n"
    )
    assert found.slurm.nodes == nodes


def test_colocation_takes_the_nodes_that_its_packing_needs(plan: Callable[..., Plan]) -> None:
    found = plan(
        "engine: {type: vllm, allow_prefill_decode_colocation: true,"
        " allow_prefill_decode_colocation_across_nodes: true}\n"
        "resources: {gpus_per_node: 8}\n"
        "roles: {prefill: {nodes: 2, workers: 2, gpus: 5}, decode: {nodes: 2, workers: 2, gpus: 3}}\n"
    )
    assert len(found.nodes) == 3


def test_a_worker_lies_in_the_component_of_its_own_role(complaint: Callable[..., str]) -> None:
    overflowing = (
        "engine: sglang\nroles: {prefill: {nodes: 3, workers: 1, gpus: 8},"
        " decode: {nodes: 1, workers: 3, gpus: 8}}\n"
    )
    assert "decode_0 lies in the other role's component" in complaint(HET + overflowing)
