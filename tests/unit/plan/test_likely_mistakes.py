"""What works and is probably not meant is a note; what cannot start is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan
from servesweep.plan.plan_command import note_lines

Planner = Callable[..., Plan]
LOAD = "benchmark: {type: sa-bench, isl: 1000, osl: 500, concurrencies: [1]}\n"
ROUTERS = (
    "engine: sglang\nroles: {agg: {nodes: 3, workers: 3, gpus: 8}}\n"
    "frontend: {type: sglang-router, enable_multiple_frontends: true%s}\n"
)
KV = "engine: sglang\nfrontend: {type: dynamo, args: {router-mode: kv%s}}\n"


def agg(more: str, engine: str = "sglang") -> str:
    return f"engine: {engine}\nroles: {{agg: {{nodes: 1, {more}}}}}\n"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (agg("gpus: 2"), "6 of 8 GPUs of n0 are idle, and held by the job"),
        ("engine: sglang\nroles: {prefill: {nodes: 2, workers: 2, gpus: 4}, decode: {nodes: 1, gpus: 8}}\n",
         None),
        (agg("gpus: 8") + "resources: {gpu_type: b200}\n",
         "resources.gpu_type is b200, and the cluster file's default_gpu_type h100"),
        (agg("gpus: 8") + "resources: {gpu_type: H100}\n", None),
        (ROUTERS % "", "each of 2 routers behind nginx sees a part of the prompts"),
        (ROUTERS % ", nginx_session_affinity: true", None),
        (ROUTERS % ", args: {policy: round_robin}", None),
        (KV % "" + "roles: {agg: {nodes: 1}}\n", "router-mode is kv, and agg workers are not told"),
        (KV % "" + "roles: {agg: {nodes: 1, kv_events: true}}\n", None),
        (KV % ", no-router-kv-events: true" + "roles: {agg: {nodes: 1}}\n", None),
        (agg("gpus: 8, args: {context_length: 1499}") + LOAD,
         "context_length in roles.agg.args is 1499, and isl + osl are 1500".replace("_length", "-length")),
        (agg("gpus: 8, args: {max-model-len: 1500}", "vllm") + "frontend: {type: direct}\n" + LOAD, None),
        ("engine: vllm\nfrontend: {type: vllm-router}\n"
         "roles: {prefill: {nodes: 1, args: {max-model-len: 999}}, decode: {nodes: 1}}\n" + LOAD,
         "max-model-len in roles.prefill.args is 999, and isl is 1000"),
    ],
)  # fmt: skip
def test_a_likely_mistake_is_a_note(plan: Planner, text: str, note: str | None) -> None:
    words = ("are idle", "default_gpu_type", "behind nginx", "not told to publish", "isl")
    found = [line for line in plan(text).notes if any(word in line for word in words)]
    if note is None:
        assert not [line for line in found if "are idle" not in line]
    else:
        assert [line for line in found if line.startswith(note)], found


def test_whole_nodes_in_use_have_no_idle_gpus(plan: Planner) -> None:
    assert plan(agg("gpus: 8, args: {tp: 8}")).notes == ()
    # Where a job asks for no GPUs, and shares its nodes, others may use them.
    assert plan(agg("gpus: 2, args: {tp: 2}"), use_gpus_per_node_directive=False).notes == ()


def test_gpus_of_a_node_are_compared_where_the_cluster_file_says_them(plan: Planner) -> None:
    text = agg("gpus: 4, args: {tp: 4}") + "resources: {gpus_per_node: 4}\n"
    assert plan(text).notes == ()
    note = "resources.gpus_per_node is 4, and the cluster file's 8"
    assert plan(text, gpus_per_node=8).notes == (note,)


def test_a_cluster_file_of_srt_slurm_is_told_what_its_containers_need(plan: Planner) -> None:
    site = {"containers": {"sglang": "/images/sglang.sqsh"}}
    (note,) = plan(agg("gpus: 8, args: {tp: 8}"), **site).notes
    assert note.startswith("container_runtime is unset, so images are not used and processes run bare")
    assert plan(agg("gpus: 8, args: {tp: 8}"), **site, container_runtime="none").notes == ()


@pytest.mark.parametrize(
    ("engine", "flag"),
    [
        ("sglang", "tensor-parallel-size"),
        ("vllm", "tensor-parallel-size"),
        ("trtllm", "tensor_parallel_size"),
    ],
)
def test_an_engine_without_a_parallel_size_uses_one_gpu(plan: Planner, engine: str, flag: str) -> None:
    note = f"roles.agg.args say no parallel size, and each worker has 4 GPUs: without {flag} the engine uses"
    assert [told.startswith(note) for told in plan(agg("gpus: 4", engine)).notes if "parallel" in told] == [
        True
    ]
    for said in ("gpus: 1", f"gpus: 4, args: {{{flag}: 4}}"):
        assert not [told for told in plan(agg(said, engine)).notes if "no parallel size" in told]


def test_an_image_that_is_not_used_is_told(plan: Planner) -> None:
    text = agg("gpus: 8, container: own, args: {tp: 8}")
    assert [note.split(",")[0] for note in plan(text).notes] == ["container_runtime is unset"]


def test_sizes_beyond_the_gpus_of_a_worker_are_refused(complaint: Callable[..., str], plan: Planner) -> None:
    assert complaint(agg("gpus: 4, args: {tp: 8}")) == (
        "demo.yaml:5: roles.agg.args: the parallel sizes need 8 GPUs, and each worker has 4:"
        " make them smaller, or give workers more"
    )
    replica = "engine: sglang\nreplicas: 1\nframework_args: --tp 16\n"
    note = "framework_args spread the model over 16 GPUs, and each worker has 8"
    assert note in plan(replica).notes
    fewer = plan(agg("gpus: 8, args: {tp: 4}")).notes
    assert "roles.agg.args spread the model over 4 GPUs, and each worker has 8" in fewer


def test_notes_of_a_sweep_are_told_once_each_with_their_count(plans: Callable[..., list[Plan]]) -> None:
    text = "sweep: {g: [2, 4, 8]}\n" + agg('gpus: "{g}", args: {tp: "{g}", context-length: 10}') + LOAD
    assert list(note_lines(plans(text))) == [
        "notes on 3 of 3 configurations; `snakemake plan` shows which",
        "  3 x context-length in roles.agg.args is 10, and isl + osl are 1500",
        "  1 x 6 of 8 GPUs of n0 are idle, and held by the job",
        "  1 x 4 of 8 GPUs of n0 are idle, and held by the job",
    ]
