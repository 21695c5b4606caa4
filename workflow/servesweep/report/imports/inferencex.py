"""Aggregated results of InferenceX: one flat object a load, latencies in seconds, per-GPU rates. Pure."""

from collections.abc import Mapping
from typing import Any

from servesweep.report.columns import LATENCIES, STATISTICS, Row, empty_row
from servesweep.report.files import is_number
from servesweep.report.imports.finishing import finished, integer, product
from servesweep.report.rows import rate

SIZES = ("tp", "pp", "ep")


def is_inferencex(data: Mapping[str, Any]) -> bool:
    """Whether this is an aggregated result of InferenceX."""
    return "tput_per_gpu" in data and "conc" in data


def inferencex_rows(data: Mapping[str, Any], name: str) -> list[Row]:
    """One row; latencies become milliseconds, and throughput the deployment's again."""
    disagg = "num_decode_gpu" in data
    row = empty_row()
    row |= {
        "configuration": data.get("configuration") or _described(data),
        "point": f"c{data['conc']}",
        "engine": data.get("framework"),
        "model": data.get("model"),
        "precision": data.get("precision"),
        "gpu_type": data.get("hw"),
        "isl": integer(data.get("isl")),
        "osl": integer(data.get("osl")),
        "concurrency": integer(data["conc"]),
        "request_rate": rate("inf"),
        "repeat": integer(data.get("repeat")) or 0,
        "total_tok_s_per_gpu": data["tput_per_gpu"],
    }
    row |= _shape(data, disagg)
    for latency in LATENCIES:
        for statistic in STATISTICS:
            if is_number(seconds := data.get(f"{statistic}_{latency}")):
                row[f"{statistic}_{latency}_ms"] = seconds * 1000
    outputting = row["decode_gpus"] if disagg else row["total_gpus"]
    row["output_throughput_tok_s"] = product(data.get("output_tput_per_gpu"), outputting)
    row["total_throughput_tok_s"] = product(data["tput_per_gpu"], row["total_gpus"])
    return [finished(row)]


def _shape(data: Mapping[str, Any], disagg: bool) -> Row:
    """GPUs, workers and parallel sizes."""
    if not disagg:
        total = integer(data.get("num_gpus") or data.get("num_aggregate_gpu")) or _gpus(data)
        whole: Row = {"total_gpus": total, "prefill_gpus": 0, "decode_gpus": 0, "agg_gpus": total}
        return whole | {f"agg_{size}": integer(data.get(size)) for size in SIZES}
    shape: Row = {"agg_gpus": 0, "num_agg": 0}
    for role in ("prefill", "decode"):
        shape[f"{role}_gpus"] = integer(data.get(f"num_{role}_gpu"))
        shape[f"num_{role}"] = integer(data.get(f"{role}_num_workers"))
        shape |= {f"{role}_{size}": integer(data.get(f"{role}_{size}")) for size in SIZES}
    gpus = [integer(data.get(f"num_{role}_gpu")) for role in ("prefill", "decode")]
    return shape | {"total_gpus": sum(number for number in gpus if number)}


def _described(data: Mapping[str, Any]) -> str:
    """A name that is the same for all loads of one deployment."""
    roles = ("prefill", "decode") if "num_decode_gpu" in data else ("",)
    keys = [f"{role}_{size}" if role else size for role in roles for size in ("tp", "ep")]
    shape = "-".join(f"{key.replace('_', '')}{data[key]}" for key in keys if data.get(key) is not None)
    parts = (data.get("hw"), data.get("framework"), data.get("precision"), shape, data.get("spec_decoding"))
    return "-".join(str(part) for part in parts if part and part != "none")


def _gpus(data: Mapping[str, Any]) -> int | None:
    """GPUs of an aggregated deployment, as InferenceX counts them."""
    tp = integer(data.get("tp"))
    return None if tp is None else tp * (integer(data.get("pp")) or 1)
