"""What is measured: the load, where its client stands, and the client's environment.

The command lines of the clients are each project's own, so what they are told is compared: of sa-bench what
this project's client reads from the files of its points, of other types their options.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from comparing.case import Case, Row

from servesweep.benchmarks import BENCHMARKS, BenchmarkContext
from servesweep.plan.plan import Plan
from servesweep.topology.deployment import Command

# Positions of the reference's scripts after the address of the server.
POSITIONS = {
    "gsm8k": ("num_examples", "max_tokens", "num_threads", "num_shots", "temperature", "top_p", "top_k"),
    "gpqa": ("num_examples", "max_tokens", "repeat", "num_threads"),
    "mooncake-router": ("model", "mooncake_workload", "ttft_threshold_ms", "itl_threshold_ms"),
}  # fmt: skip
# Read by the reference's own scripts around its clients: its profiling, its slow start, its wheel.
OF_SCRIPTS = (
    "SRTCTL_FRONTEND_TYPE", "PROFILE_", "SGLANG_TORCH_PROFILER_DIR", "BENCH_MODEL_NAME", "HEAD_",
    "SA_BENCH_", "DYNAMO_",
)  # fmt: skip
ADDED = ("SRT_SERVICE_", "SRT_WORKER_NODES", "SRT_GPUS_PER_NODE", "SERVESWEEP_MODEL")


def compare_load(case: Case) -> None:
    row = case.row.get("benchmark") or {}
    kind = case.recipe["benchmark"].get("type", "manual")
    if "benchmark" in case.refused:
        # The reference loads these recipes, and finds no such runner once their servers stand.
        case.differs("gsm8k-bench")
        assert row["errors"][0].startswith(f"Unknown benchmark type: {kind}."), case.name
        return
    if "command" not in row:
        case.tally.compare(case, "benchmarks: load, place, env", "nothing is measured", (kind, "manual"))
        return
    ours, theirs = {**place(case.plan), **told(case.plan)}, {**place_of(row), **told_by(row, case.plan)}
    if theirs.get("chat template") and "use_chat_template" not in case.recipe["benchmark"]:
        case.differs("template")
        theirs["chat template"] = False
    kinds = f"benchmarks: load, place, env ({kind})"
    pairs = [(ours, theirs)]
    if kind in ("sa-bench", "custom"):
        pairs.append((environment(case.plan), reference_environment(case, row)))
    case.tally.compare(case, kinds, "the load", *pairs)


def environment(plan: Plan) -> dict[str, str]:
    """The environment of the client, without what schema 2 and this project add."""
    (command, *_) = clients(plan)
    return {name: value for name, value in command.env.items() if not name.startswith(ADDED)}


def reference_environment(case: Case, row: Row) -> dict[str, str]:
    env = dict(row["env"])
    if case.plan.resolved.benchmark.type == "sa-bench":
        # Our client has the address in its file, where it is compared.
        del env["SRT_FRONTEND_HOST"], env["SRT_FRONTEND_PORT"]
    for name in [name for name in env if name.startswith(OF_SCRIPTS)]:
        case.differs("scripts")
        del env[name]
    return env


def place(plan: Plan) -> Row:
    """The client's node, and the address of the public API."""
    assert plan.public is not None
    host = plan.deployment.address(plan.public.node)
    return {"node": plan.client, "host": host, "port": str(plan.public.port)}


def place_of(row: Row) -> Row:
    return {
        "node": row["node"],
        "host": row["env"]["SRT_FRONTEND_HOST"],
        "port": row["env"]["SRT_FRONTEND_PORT"],
    }


def told(plan: Plan) -> Row:
    kind, given = plan.resolved.benchmark.type, plan.resolved.benchmark.options
    if kind == "sa-bench":
        return sa_bench(plan)
    if kind == "custom":
        return {"command": given["command"]}
    options = BENCHMARKS[kind].Options.model_validate(given).model_dump()
    return {
        "model": plan.served_model,
        **{key: options.get(key) for key in POSITIONS[kind]},
        **model(plan, kind),
    }


def model(plan: Plan, kind: str) -> Row:
    return {"model": plan.served_model if "model" in POSITIONS[kind] else None}


def told_by(row: Row, plan: Plan) -> Row:
    command = row["command"]
    if command[:2] == ["bash", "-lc"]:
        return {"command": command[2]}
    kind = plan.resolved.benchmark.type
    if kind == "sa-bench":
        return sa_bench_script(command)
    values = dict(zip(POSITIONS[kind], command[3:], strict=False))
    return {"model": None, **{key: number(value) for key, value in values.items()}}


def number(word: str) -> Any:
    """A position's value; an empty one was not said."""
    return json.loads(word) if word.replace(".", "").isdigit() else word or None


def sa_bench_script(command: list[str]) -> Row:
    """The reference's script by the names of its positions."""
    _, _, endpoint, isl, osl, levels, rate, tokenizer, served, disaggregated, *rest = command
    total, prefill, decode, ratio, prompts, warmup, tokenizer_class, template, dataset, path, reuse = rest
    assert endpoint == "http://localhost:8000"
    assert tokenizer == "/model" or not tokenizer.startswith("/")
    assert (dataset, path, reuse) == ("random", "", "false")
    gpus = {"prefill_gpus": int(prefill), "decode_gpus": int(decode)} if disaggregated == "true" else {}
    concurrencies = [int(level) for level in levels.split("x")]
    return {
        "isl": int(isl),
        "osl": int(osl),
        "concurrencies": concurrencies,
        "request_rate": float(rate),
        "model": served,
        "total_gpus": int(total),
        **gpus,
        "random_range_ratio": float(ratio),
        "num_prompts": [level * int(prompts) for level in concurrencies],
        "num_warmup": [level * int(warmup) for level in concurrencies],
        "custom_tokenizer": tokenizer_class or None,
        "chat template": template == "true",
    }


def sa_bench(plan: Plan) -> Row:
    """What this project's client reads from the files of the points."""
    specs = specifications(plan)
    gpus = ("prefill_gpus", "decode_gpus") if plan.topology.is_disaggregated else ()
    same = ("isl", "osl", "request_rate", "model", "total_gpus", "random_range_ratio", *gpus)
    first: Mapping[str, Any] = {key: specs[0][key] for key in same}
    assert all({key: spec[key] for key in same} == first for spec in specs)
    return {
        **first,
        "request_rate": float(first["request_rate"]),
        "concurrencies": [spec["concurrency"] for spec in specs],
        "num_prompts": [spec["num_prompts"] for spec in specs],
        "num_warmup": [spec["num_warmup"] for spec in specs],
        "custom_tokenizer": plan.resolved.benchmark.options.get("custom_tokenizer"),
        "chat template": first_api(specs) == "chat",
    }


def first_api(specs: list[Row]) -> str:
    (api,) = {spec["api"] for spec in specs}
    return str(api)


def specifications(plan: Plan) -> list[Row]:
    specs = [json.loads(text) for command in clients(plan) for text in command.files.values()]
    at = place(plan)
    assert {spec["url"] for spec in specs} == {f"http://{at['host']}:{at['port']}"}
    return specs


def clients(plan: Plan) -> list[Command]:
    """The client of every point, as the run renders it."""
    benchmark = BENCHMARKS[plan.resolved.benchmark.type]
    options = benchmark.Options.model_validate(plan.resolved.benchmark.options)
    at = place(plan)
    context = BenchmarkContext(
        configuration="c",
        digest="0",
        url=f"http://{at['host']}:{at['port']}",
        deployment=plan.deployment,
        directory="point",
        output="point/result.json",
        environment={**plan.cluster.environment, **plan.resolved.environment},
    )
    return [benchmark.command(load, options, context) for load in benchmark.loads(options)]
