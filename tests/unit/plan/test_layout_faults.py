"""Layouts that do not fit blame the key that a person would change; oversized ones come back at once."""

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan

PREFILL = "prefill reserves 1 node, but its workers take 2"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        # prefill takes more than its own node, and decode finds none
        ("engine: sglang\nroles:\n  prefill: {nodes: 1, workers: 3, gpus: 3}\n  decode: {nodes: 1}\n",
         "6: roles.prefill.nodes: 3 prefill x 3 GPUs and 1 decode x 8 GPUs do not fit on 2 nodes of 8 GPUs:"
         f" decode worker 0 finds no place, 3 nodes are needed ({PREFILL})"),
        ("engine: sglang\nroles:\n  prefill: {nodes: 1, workers: 16, gpus: 1}\n  decode: {nodes: 1}\n",
         "6: roles.prefill.nodes: 16 prefill x 1 GPUs and 1 decode x 8 GPUs do not fit on 2 nodes of 8 GPUs:"
         f" decode worker 0 finds no place, 3 nodes are needed ({PREFILL})"),
        ("engine: trtllm\nroles:\n  prefill: {nodes: 1, workers: 2, gpus: 8}\n  decode: {nodes: 1}\n",
         "6: roles.prefill.nodes: 2 prefill x 8 GPUs and 1 decode x 8 GPUs do not fit on 2 nodes of 8 GPUs:"
         f" decode worker 0 finds no place, 3 nodes are needed ({PREFILL})"),
        # decode itself
        ("engine: sglang\nroles:\n  prefill: {nodes: 1}\n  decode: {nodes: 1, gpus: 16}\n",
         "7: roles.decode.nodes: 1 prefill x 8 GPUs and 1 decode x 16 GPUs do not fit on 2 nodes of 8 GPUs:"
         " decode worker 0 finds no place, 3 nodes are needed"),
        # one role, by engine
        ("engine: trtllm\nroles:\n  agg: {nodes: 1, gpus: 12}\n",
         "6: roles.agg.nodes: 1 agg x 12 GPUs do not fit on 1 node of 8 GPUs:"
         " agg worker 0 finds no place, 2 nodes are needed"),
        ("engine: mocker\nroles:\n  agg: {nodes: 1, gpus: 9}\n",
         "6: roles.agg.gpus: a worker of the engine mocker runs on one node of 8 GPUs, and this one has 9:"
         " make more workers, or set gpus"),
        ("roles:\n  prefill: {nodes: 1, engine: trtllm, gpus: 16}\n  decode: {nodes: 1, engine: sglang}\n"
         "frontend: {type: sglang-router}\n",
         "5: roles.prefill.gpus: a trtllm worker beside another engine runs on one node of 8 GPUs,"
         " and this one has 16"),
        # beyond any cluster
        ("engine: sglang\nroles:\n  agg: {nodes: 1, workers: 10000, gpus: 100000}\n",
         "6: roles.agg.nodes: 10000 agg x 100000 GPUs do not fit on 1 node of 8 GPUs:"
         " agg worker 0 finds no place, 125000000 nodes are needed"),
        ("engine: sglang\nroles:\n  prefill: {nodes: 6000}\n  decode: {nodes: 6000}\n",
         "5: roles: the job has 12000 nodes together, and a job has at most 10000"),
        ("engine: sglang\nresources: {gpus_per_node: 1024}\nroles: {agg: {nodes: 1000}}\n",
         "6: roles: 1000 nodes of 1024 GPUs are 1024000 GPUs, and a job has at most 100000"),
        ("engine: sglang\nreplicas: 1000\nnodes_per_replica: 1000\nbenchmark: {type: custom, command: x}\n",
         "5: replicas: the job has 1000000 nodes together, and a job has at most 10000"),
    ],
)  # fmt: skip
def test_who_does_not_fit_is_blamed(complaint: Callable[..., str], body: str, sentence: str) -> None:
    assert sentence in [line.removeprefix("demo.yaml:") for line in complaint(body).splitlines()]


def test_of_many_idle_nodes_the_first_are_named(plan: Callable[..., Plan]) -> None:
    body = "engine: sglang\nroles: {agg: {nodes: 300, workers: 1, gpus: 8}}\n"
    assert plan(body).notes[0] == "no worker runs on n1, n2, n3, n4, n5 and 294 further nodes"


def test_gpus_beyond_a_node_that_a_worker_takes_unasked_are_noted(plan: Callable[..., Plan]) -> None:
    found = plan("engine: sglang\nroles: {agg: {nodes: 2, gpus: 12}}\n")
    assert "each agg worker asks for 12 GPUs, and has whole nodes of 16" in found.notes
