"""Which worker has which GPU of which node."""

from servesweep.report.node_map import node_map
from servesweep.report.sweep import load_sweep


def test_every_gpu_has_its_worker_and_the_rest_is_told(tree):
    processes = [
        {"mode": "prefill", "index": 0, "node": "n0", "gpus": [0, 1]},
        {"mode": "decode", "index": 0, "node": "n1", "gpus": [0]},
        {"mode": "decode", "index": 1, "node": "n1", "gpus": [0, 99]},
        {"mode": "decode", "index": 2, "node": "gone", "gpus": [0]},
    ]
    shape = {"total_nodes": 2, "gpus_per_node": 3}
    tree.plan("a", {"c1": 1}, topology=shape, deployment={"processes": processes})
    tree.put("a/run.json", {"schema": 1, "digest": "D-a", "nodes": [{"name": "n1", "host": "gpu07"}]})
    first, second = node_map(load_sweep(tree.root).configurations[0])
    assert [(gpu.role, gpu.label) for gpu in first.gpus] == [("prefill", "P0"), ("prefill", "P0"), ("", "")]
    assert [gpu.label for gpu in second.gpus] == ["D0/D1", "", ""], "both share the first"
    assert (first.host, second.host) == ("", "gpu07")
    assert (first.others, first.workers) == (["head", "frontend"], ["prefill_0"])


def test_without_a_plan_there_is_no_map(tree):
    assert node_map(load_sweep(tree.root, ["a"]).configurations[0]) == []
