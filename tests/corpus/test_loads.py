"""What every real recipe measures, and where its client stands, against the reference's.

The command lines of the clients are each project's own, so what they are told is compared: of sa-bench what
this project's client reads from the files of its points, of other types their options.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from servesweep.benchmarks import BENCHMARKS, BenchmarkContext
from servesweep.plan.plan import Plan

Row = dict[str, Any]

# Positions of the reference's scripts after the address of the server.
POSITIONS = {
    "gsm8k": ("num_examples", "max_tokens", "num_threads", "num_shots", "temperature", "top_p", "top_k"),
    "gpqa": ("num_examples", "max_tokens", "repeat", "num_threads"),
    "mooncake-router": ("model", "mooncake_workload", "ttft_threshold_ms", "itl_threshold_ms"),
}  # fmt: skip


def test_loads(planned: list[Any]) -> None:
    different, kinds = [], dict.fromkeys(("sa-bench", "custom", *POSITIONS), 0)
    for case in planned:
        row = case.row.get("benchmark") or {}
        if "command" not in row:
            # Two types that the reference does not know either, and one recipe that measures nothing.
            assert case.plan.resolved.benchmark.type == "manual"
            continue
        kinds[case.plan.resolved.benchmark.type] += 1
        ours, theirs = {**place(case.plan), **told(case.plan)}, {**place_of(row), **told_by(row, case.plan)}
        if ours != theirs:
            different.append(f"{case.name}: {ours}, reference {theirs}")
    total = sum(kinds.values())
    print(f"\nloads: {total - len(different)} of {total} equal, {kinds}")
    assert not different, "\n".join([f"{len(different)} loads differ", *different[:20]])
    assert kinds == {"sa-bench": 468, "custom": 1, "gsm8k": 8, "gpqa": 4, "mooncake-router": 8}


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
    total, prefill, decode, ratio, prompts, warmup, tokenizer_class, _, dataset, *_ = rest
    assert endpoint == "http://localhost:8000"
    assert tokenizer == "/model" or not tokenizer.startswith("/")
    assert dataset == "random"
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
    }


def specifications(plan: Plan) -> list[Row]:
    benchmark = BENCHMARKS["sa-bench"]
    options = benchmark.Options.model_validate(plan.resolved.benchmark.options)
    at = place(plan)
    context = BenchmarkContext(
        configuration="c",
        digest="0",
        url=f"http://{at['host']}:{at['port']}",
        deployment=plan.deployment,
        directory="point",
        output="point/result.json",
    )
    commands = [benchmark.command(load, options, context) for load in benchmark.loads(options)]
    specs = [json.loads(text) for command in commands for text in command.files.values()]
    assert {spec["url"] for spec in specs} == {context.url}
    return specs
