"""What goes together and what does not: one line each, before anything is submitted."""

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan

AGG = "roles: {agg: {nodes: 1}}\n"
PD = "roles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"
SA = "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # engines and their options
        ("engine: sglnag\n" + AGG, "4: engine: unknown engine 'sglnag'; did you mean sglang?"),
        ("engine: tgi\n" + AGG,
         "4: engine: unknown engine 'tgi';"
         " there are: atom, command, mocker, sglang, simulator, tilert, tokenspeed, trtllm, vllm"),
        ("engine: {type: mocker, speedup: 3}\n" + AGG,
         "4: engine.speedup: unknown key; did you mean speedup_ratio?"),
        ("engine: {type: sglang, tp: 3}\n" + AGG, "4: engine.tp: unknown key; known here: mooncake_kv_store"),
        ("engine:\n  type: mocker\n  speedup_ratio: fast\n" + AGG,
         "6: engine.speedup_ratio: expected a number, got 'fast'"),
        ("engine: {type: mocker, block_size: }\n" + AGG,
         "4: engine.block_size: the key has no value: write one, or remove the key"),
        ("roles:\n  agg:\n    nodes: 1\n    engine:\n      type: mocker\n      speedup: 1\n",
         "9: roles.agg.engine.speedup: unknown key; did you mean speedup_ratio?"),
        # geometry
        ("engine: sglang\nroles:\n  agg: {nodes: 1, workers: 3}\n",
         "6: roles.agg.workers: 8 GPUs (1 x 8) do not divide among 3 workers, 2 would be idle; set gpus"),
        ("engine: sglang\nroles:\n  agg: {nodes: 1, workers: 9}\n",
         "6: roles.agg.workers: 9 workers share 8 GPUs (1 x 8), so 1 get none;"
         " use fewer workers or more nodes"),
        ("engine: sglang\nroles:\n  agg: {nodes: 1, workers: 3, gpus: 4}\n",
         "6: roles.agg.nodes: 3 agg x 4 GPUs do not fit on 1 node of 8 GPUs:"
         " agg worker 2 finds no place, 2 nodes are needed"),
        ("engine: sglang\nroles:\n  prefill: {nodes: 1, workers: 2, gpus: 4}\n"
         "  decode: {nodes: colocate, gpus: 8}\n",
         "7: roles.decode.nodes: 2 prefill x 4 GPUs and 1 decode x 8 GPUs do not fit on 1 node of 8 GPUs:"
         " decode worker 0 finds no place, 2 nodes are needed"
         " (colocated decode workers get the GPUs that prefill leaves free on a node)"),
        ("engine: mocker\nroles:\n  agg: {nodes: 2}\n",
         "6: roles.agg.gpus: a worker of the engine mocker runs on one node of 8 GPUs, and this one has 16:"
         " make more workers, or set gpus"),
        ("engine: {type: command, argv: [srv, '{port}', '{modell}']}\n" + AGG,
         "4: engine.argv: unknown placeholder {modell}; did you mean {model}?"),
        # arguments that servesweep owns
        ("engine: sglang\nroles:\n  agg:\n    nodes: 1\n    args:\n      dist_init_addr: x\n",
         "9: roles.agg.args.dist_init_addr:"
         " servesweep sets this argument itself from the topology: remove it"),
        ("engine: sglang\n" + AGG + "frontend:\n  args:\n    http-port: 1\n",
         "8: frontend.args.http-port: servesweep sets this argument itself from the topology: remove it"),
        # frontends
        ("engine: sglang\n" + AGG + "frontend:\n  type: sglang_router\n",
         "7: frontend.type: unknown frontend 'sglang_router'; did you mean sglang-router?"),
        ("engine: simulator\n" + AGG,
         "1: frontend.type: the engine simulator does not work under dynamo:"
         " use sglang-router, vllm-router, direct or none"),
        ("engine: mocker\n" + AGG + "frontend: {type: direct}\n",
         "6: frontend.type: the engine mocker does not work under direct: use dynamo"),
        ("engine: vllm\n" + AGG + "frontend: {type: sglang-router}\n",
         "6: frontend.type: sglang-router serves the engines command, sglang and simulator,"
         " and roles.agg has vllm"),
        ("engine: sglang\n" + AGG + "frontend: {type: vllm-router}\n",
         "6: frontend.type: vllm-router serves the engines command, simulator and vllm,"
         " and roles.agg has sglang"),
        ("roles:\n  prefill: {nodes: 1, engine: vllm}\n  decode: {nodes: 1, engine: sglang}\n",
         "1: frontend.type: roles with engines of their own do not run under Dynamo:"
         " name one engine at the top, or use another frontend"),
        ("engine: sglang\nroles: {agg: {nodes: 1, workers: 2}}\nfrontend: {type: direct}\n",
         "6: frontend.type: direct serves exactly one agg worker, and the recipe has 2 agg: use a router"),
        ("engine: sglang\n" + PD + "frontend: {type: direct}\n",
         "6: frontend.type: direct serves exactly one agg worker, and the recipe has 1 prefill, 1 decode:"
         " use a router"),
        ("engine: sglang\n" + AGG + "frontend: {type: direct, args: {a: 1}}\n",
         "6: frontend.args.a: direct starts no process that could take arguments: remove it"),
        ("engine: sglang\n" + AGG + "frontend: {type: none, args: {a: 1}}\n",
         "6: frontend.args.a: frontend none starts no process that could take arguments: remove it"),
        ("engine: sglang\n" + AGG + "frontend: {placement: {node: first_decode}}\n",
         "6: frontend.placement.node: first_decode needs a decode role, and this recipe has none"),
        ("engine: sglang\n" + AGG + "frontend: {}\nbenchmark: {placement: {node: last_decode}}\n",
         "7: benchmark.placement.node: last_decode needs a decode role, and this recipe has none"),
        # benchmarks
        ("engine: sglang\n" + AGG + "benchmark: {type: sabench}\n",
         "6: benchmark.type: unknown benchmark 'sabench'; did you mean sa-bench?"),
        ("engine: sglang\n" + AGG + "benchmark: {isl: 8}\n",
         "6: benchmark.type: the type is missing, and without one nothing is measured: write type: sa-bench"),
        ("engine: sglang\n" + AGG + "benchmark: {tpye: sa-bench, isl: 8}\n",
         "6: benchmark.tpye: unknown key; did you mean type?"),
        ("engine: sglang\n" + AGG + "benchmark: {type: manual, placment: head}\n",
         "6: benchmark.placment: unknown key; did you mean placement?"),
        ("engine: sglang\n" + AGG + "frontend: {type: none}\n" + SA,
         "7: benchmark.type: sa-bench needs a public API, and frontend none has none"),
        ("engine: sglang\nreplicas: 2\n" + SA,
         "6: benchmark.type: sa-bench over 2 replicas needs a router: say router: sglang"),
        # replicas
        ("engine: sglang\nreplicas: 1\nframework_args: --tp 8 --port 3\n",
         "6: framework_args: every replica serves on port 8080, which servesweep sets: remove --port"),
        ("engine: sglang\nreplicas: 1\nframework_args: --port=3\n",
         "6: framework_args: every replica serves on port 8080, which servesweep sets: remove --port"),
        ("engine: sglang\nreplicas: 1\nnodes_per_replica: 2\nframework_args: --nnodes=2 --node-rank 0\n",
         "7: framework_args: servesweep sets the ranks of a replica itself: remove --nnodes and --node-rank"),
        ("engine: sglang\nreplicas: 1\nframework_args: --name 'x\n",
         "6: framework_args: the text is no command line: no closing quotation"),
        ("engine: mocker\nreplicas: 2\n",
         "4: engine: mocker has no HTTP endpoint of its own, so it cannot be a replica"),
        ("engine: simulator\nreplicas: 2\nnodes_per_replica: 2\n",
         "6: nodes_per_replica: a replica of the engine simulator runs on one node"),
    ],
)  # fmt: skip
def test_a_recipe_that_cannot_run_is_refused(complaint: Callable[..., str], body: str, expected: str) -> None:
    assert complaint(body) == f"demo.yaml:{expected}"


def test_patience_beyond_a_limit_is_noted(plan: Callable[..., Plan]) -> None:
    body = "engine: sglang\n" + AGG
    for found in (
        plan(body, default_time_limit=5),
        plan(body + "slurm: {time_limit: 5}\n"),
        plan(body + "slurm: {time_limit: 5}\nhealth_check: {max_attempts: 180}\n"),
    ):
        assert found.notes[1:] == (
            "the health gate may wait 1800 s, and the time limit is 300 s: raise slurm.time_limit, or lower"
            " health_check.max_attempts",
        )
    slow = "engine: simulator\n" + AGG + "frontend: {type: direct}\nhealth_check: {max_attempts: 999}\n"
    # No scheduler ends a local run.
    assert plan(slow, launcher="local", default_time_limit=5).notes == ()


def test_what_works_is_not_refused(plan: Callable[..., object]) -> None:
    plan("engine: sglang\n" + AGG + "frontend: {type: none}\nbenchmark: {type: custom, command: 'true'}\n")
    plan("engine: sglang\nreplicas: 2\nbenchmark: {type: custom, command: 'true'}\n")
    plan("engine: sglang\nreplicas: 1\nframework_args: --nnodes 1\n" + SA)
    plan(
        "roles: {prefill: {nodes: 1, engine: sglang}, decode: {nodes: 1, engine: simulator}}\n"
        "frontend: {type: sglang-router}\n" + SA
    )


def test_faults_of_every_section_are_told_together(complaint: Callable[..., str]) -> None:
    body = (
        "engine: sglang\n"
        "roles: {agg: {nodes: 1, workers: 2, args: {port: 1}}}\n"
        "frontend: {type: direct}\n"
        "benchmark: {type: sa-bench, isl: 8, osl: 0, concurrencies: 0}\n"
        "slurm: {time_limit: 1}\n"
    )
    assert [line.split(": ")[1] for line in complaint(body).splitlines()] == [
        "frontend.type", "roles.agg.args.port", "benchmark.osl", "benchmark.concurrencies",
    ]  # fmt: skip


def test_a_fault_of_one_variant_does_not_hide_those_of_another(complaint: Callable[..., str]) -> None:
    text = (
        "base:\n"
        "  schema: 2\n"
        "  name: demo\n"
        "  model: {path: tiny, precision: fp8}\n"
        "  engine: sglang\n"
        "  roles: {agg: {nodes: 1}}\n"
        "override_a: {roles: {agg: {workers: 3}}}\n"
        "override_b: {}\n"
        "override_c: {frontend: {type: direkt}}\n"
    )
    assert complaint(text, head="").splitlines() == [
        "demo.yaml:7: roles.agg.workers: 8 GPUs (1 x 8) do not divide among 3 workers,"
        " 2 would be idle; set gpus",
        "demo.yaml:9: frontend.type: unknown frontend 'direkt'; did you mean direct?",
    ]  # fmt: skip
