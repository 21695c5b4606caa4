"""All 392 real recipes, 492 configurations, against what the reference computes for them: one test.

A v1 recipe is migrated, read and planned for a cluster with containers, and everything that
`commands.jsonl.gz` and `placement.jsonl.gz` hold about it is compared: node map, GPUs, ports, workers,
frontends, discovery plane, gate, load, and the request to Slurm. Flags are compared without their order, with
`_` for `-`, and JSON by its value.

`DIFFERENCES` are all the places where this project differs on purpose. Each is applied to the reference's
answer, and counted; nowhere else may anything differ, and each row must be needed. What is in the two tables
and is not compared is in `NOT_COMPARED`. The 6,612 synthetic packing calls are in `test_packing.py`.
"""

from __future__ import annotations

from typing import Any

from comparing.case import Case, Tally
from comparing.frontends import compare_discovery, compare_frontends, compare_gate
from comparing.loads import compare_load
from comparing.placement import compare_map, compare_processes
from comparing.request import compare_request
from comparing.workers import compare_workers

# Row: how many configurations have it, and why.
DIFFERENCES: dict[str, tuple[int, str]] = {
    "kv ports": (492, "KV events start at 5550 and count worker leaders (the corpus's README)"),
    "total nodes": (109, "total_nodes counts the dedicated node too, as the request to Slurm does in both"),
    "discovery": (16, "as in schema 2: etcd and DYN_* only under Dynamo, NATS only for a plane over it"),
    "address": (477, "ETCD_ENDPOINTS and NATS_SERVER name a node by its address, as everything else does"),
    "health": (477, "workers say whether they generate, for the gate, and that discovery goes by etcd"),
    "own files": (
        253,
        "dumps, traces and routers' logs are named by step: its dumps overwrite on a shared node",
    ),
    "once": (227, "flags that a recipe repeats and the plan sets stand once, with the plan's value"),
    "mocker's name": (1, "the mocker is told the served name, as the gate asks for the model by it"),
    "python": (14, "routers run under python3, as other processes do; not every machine has `python`"),
    "retries": (14, "routers do not retry: that would hide a worker that fails, and slow another's answer"),
    "mpi": (239, "a frontend is started by pmix only where its image needs MPI: not every Slurm has it"),
    "template": (442, "prompts are as long as asked: without a word no chat template is put around them"),
    "top of tree": (1, "a Dynamo that moves is refused, not installed: two runs would measure two of them"),
    "scripts": (469, "variables that only the reference's own installer and client scripts read"),
    "executor": (492, "job name, log, tasks are the Slurm executor's; the comment has the recipe's name"),
    "gsm8k-bench": (2, "a type that the reference does not know either: its job fails, ours is refused"),
}

NOT_COMPARED = {
    "use_bash_wrapper": "how the reference writes nginx's step",
    "bash_preamble's FP:": "a fingerprint before every worker: taken here by the run, beside the plan",
    "infra's command and output": "one script of the reference starts etcd and NATS; here each is a step",
    "benchmark's command words": "each project has its own clients; what they are told is compared",
    "health.desc": "a sentence",
    "sets_cuda_visible_devices, concurrencies, isl, osl": "compared where a process, or the client, is told",
    "het_group, het_jobs, form, loads, error": "null everywhere, or about the table itself",
}


def test_equals_the_reference(planned: list[Any]) -> None:
    tally = Tally(DIFFERENCES)
    for one in planned:
        case = Case(one.name, one.plan, one.row, one.placed, one.variant.data, one.refused, tally)
        compare_map(case)
        compare_processes(case)
        compare_workers(case)
        compare_frontends(case)
        compare_discovery(case)
        compare_gate(case)
        compare_load(case)
        compare_request(case)
    recipes = {one.recipe for one in planned}
    print(f"\n{len(recipes)} recipes, {len(planned)} configurations", *tally.lines(), sep="\n")
    assert not tally.different, "\n".join([f"{len(tally.different)} differ", *tally.different[:20]])
    assert tally.counts() == {row: count for row, (count, _) in DIFFERENCES.items()}
    assert all(tally.counts().values())
    assert (len(recipes), len(planned)) == (392, 492)
    counts = {kind.partition(":")[0]: count for kind, count in tally.total.items() if "load" not in kind}
    assert counts == {
        "node maps and computed properties": 492,
        "processes": 3775,
        "workers": 3168,
        "frontends and nginx": 2173,
        "discovery planes": 492,
        "expectations of the health gate": 492,
        "Slurm requests": 492,
    }
    loads = {kind.partition("env")[2].strip(" ()"): n for kind, n in tally.total.items() if "load" in kind}
    assert loads == {"sa-bench": 468, "custom": 1, "gsm8k": 8, "gpqa": 4, "mooncake-router": 8, "": 1}
