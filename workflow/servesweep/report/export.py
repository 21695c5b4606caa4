"""Rows in the form of InferenceX's aggregated results: one flat object a point, latencies in seconds.

Keys and formulas are those of InferenceX's `utils/process_result.py`; a disaggregated deployment has the keys
of its multi-node form. Only valid points are exported.
"""

import json

from servesweep.report.columns import LATENCIES, STATISTICS, Cell, Row
from servesweep.report.parallelism import has_attention_parallelism, speculation
from servesweep.report.plan_file import Plan
from servesweep.report.prices import Prices
from servesweep.report.rows import number, point_row
from servesweep.report.sweep import Sweep

MEASURES = [f"{statistic}_{latency}" for latency in LATENCIES for statistic in STATISTICS]
# The reciprocal of a spread says nothing.
NO_SPEED = "std"


def inferencex_json(sweep: Sweep, prices: Prices | None = None) -> str:
    """Return the valid points of a sweep as a JSON list in InferenceX's form."""
    exported = [
        inferencex_row(point_row(configuration, point, prices), configuration.plan)
        for configuration in sweep.configurations
        for point in configuration.points
        if point.status == "valid" and configuration.plan
    ]
    return json.dumps(exported, indent=2) + "\n"


def inferencex_row(row: Row, plan: Plan) -> dict[str, Cell]:
    """Return one point; repeats and request rates, which the form does not know, are further keys."""
    roles = [role for role in ("prefill", "decode", "agg") if row.get(f"num_{role}")]
    disagg = "decode" in roles
    first = roles[-1] if roles else "agg"
    words, args = plan.command_line(first), plan.arguments(first)
    head: dict[str, Cell] = {
        "hw": row.get("gpu_type"),
        "conc": row.get("concurrency"),
        "image": plan.image,
        "model": row.get("model"),
        "infmax_model_prefix": str(row.get("model") or "").rsplit("/", 1)[-1].lower() or None,
        "framework": row.get("engine"),
        "precision": row.get("precision"),
        "spec_decoding": speculation(words, args),
        "disagg": disagg,
        "isl": row.get("isl"),
        "osl": row.get("osl"),
        "is_multinode": (number(row, "nodes") or 1) > 1 or disagg,
    }
    own = {
        "recipe_fingerprint": plan.digest or None,
        "configuration": row.get("configuration"),
        "repeat": row.get("repeat"),
    }
    return head | _shape(row, plan, disagg) | _throughput(row, disagg) | _latencies(row) | own


def _shape(row: Row, plan: Plan, disagg: bool) -> dict[str, Cell]:
    """Parallel sizes: one set, or one for each role under its name."""
    if not disagg:
        shape = {size: row.get(f"agg_{size}") for size in ("tp", "pp", "ep")}
        return shape | {"dp_attention": _attention(plan, "agg"), "num_gpus": row.get("total_gpus")}
    shape = {}
    for role in ("prefill", "decode"):
        shape |= {f"{role}_{size}": row.get(f"{role}_{size}") for size in ("tp", "pp", "ep")}
        shape[f"{role}_dp_attention"] = _attention(plan, role)
        shape[f"{role}_num_workers"] = row.get(f"num_{role}")
        shape[f"num_{role}_gpu"] = row.get(f"{role}_gpus")
    return shape


def _attention(plan: Plan, role: str) -> str:
    """InferenceX writes this flag as text."""
    return str(has_attention_parallelism(plan.command_line(role), plan.arguments(role))).lower()


def _throughput(row: Row, disagg: bool) -> dict[str, Cell]:
    """Tokens a second per GPU: output per decode GPU and input per prefill GPU where the roles are apart."""
    total, output = number(row, "total_throughput_tok_s"), number(row, "output_throughput_tok_s")
    gpus = number(row, "total_gpus")
    inputs = None if total is None or output is None else total - output
    return {
        "tput_per_gpu": _per(total, gpus),
        "output_tput_per_gpu": _per(output, number(row, "decode_gpus") if disagg else gpus),
        "input_tput_per_gpu": _per(inputs, number(row, "prefill_gpus") if disagg else gpus),
    }


def _latencies(row: Row) -> dict[str, Cell]:
    """Latencies in seconds, and for each TPOT its reciprocal, the tokens a second that a user sees."""
    found: dict[str, Cell] = {}
    for name in MEASURES:
        if (milliseconds := number(row, f"{name}_ms")) is None:
            continue
        found[name] = milliseconds / 1000
        if name.endswith("_tpot") and milliseconds and not name.startswith(NO_SPEED):
            found[name.replace("tpot", "intvty")] = 1000 / milliseconds
    return found


def _per(tokens: float | None, gpus: float | None) -> float | None:
    return tokens / gpus if tokens is not None and gpus else None
