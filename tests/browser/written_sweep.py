"""A sweep that looks like a real one: 3 configurations × 3 points, one run failed, one point invalid."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SHAPES = {
    "h100-agg-tp8-fp8": (0, 0, 4, 32),
    "h100-disagg-1p1d-fp8": (1, 1, 0, 16),
    "h100-disagg-2p1d-kv-offload-and-a-very-long-variant-name-that-nobody-should-have-chosen": (2, 1, 0, 24),
}
LOADS = (4, 32, 256)


def metrics(number: int, gpus: int, concurrency: int) -> dict[str, float]:
    """Numbers of a plausible saturating server: latency grows with load, throughput levels off."""
    tpot = 7.5 + 1.5 * number + concurrency * (0.11 - 0.02 * number)
    ttft = 90 / (1 + number) + concurrency * (2.1 - 0.5 * number)
    output = 1000 / tpot * concurrency
    values = {
        "request_throughput_per_s": output / 1024,
        "output_throughput_tok_s": output,
        "input_throughput_tok_s": output,
        "total_throughput_tok_s": 2 * output,
        "output_tok_s_per_gpu": output / gpus,
        "total_tok_s_per_gpu": 2 * output / gpus,
        "output_tok_s_per_user": 1000 / tpot,
    }
    for name, middle in (("ttft", ttft), ("tpot", tpot), ("itl", tpot), ("e2el", ttft + 1023 * tpot)):
        for statistic, factor in (("mean", 1.05), ("median", 1), ("p50", 1), ("p90", 1.4), ("p99", 2.3)):
            values[f"{statistic}_{name}_ms"] = middle * factor
    return values


def write_configuration(
    place: Path, number: int, loads: Sequence[int] = LOADS, replicas: int | None = None
) -> None:
    """The files of one configuration; the second has an invalid point, the third failed before its last."""
    prefill, decode, agg, gpus = (0, 0, replicas, 8 * replicas) if replicas else SHAPES[place.name]
    topology = {"total_nodes": gpus // 8, "num_prefill": prefill, "num_decode": decode, "num_agg": agg}
    gpu_counts = {
        **{"total_gpus": gpus, "gpus_per_node": 8, "agg_gpus": 8 * agg},
        **{"prefill_gpus": 8 * prefill, "decode_gpus": 8 * decode},
    }
    roles = [f"prefill_{i}" for i in range(prefill)] + [f"decode_{i}" for i in range(decode)]
    roles += [f"agg_{i}" for i in range(agg)]
    put(
        place / "plan.json",
        {
            "schema": 1, "configuration": place.name, "name": "llama", "recipe": "config/recipes/llama.yaml",
            "variant": f"override_{number}", "digest": f"sha256:{number:064x}",
            "served_model": "meta-llama/Llama-3.1-70B-Instruct", "engine": "sglang" if number else "vllm",
            "frontend": "sglang-router", "launcher": "slurm", "gpu_type": "h100",
            "topology": topology | gpu_counts,
            "nodes": [
                {"name": f"n{i}", "holds": [*(["head", "frontend"] if i == 0 else []), role]}
                for i, role in enumerate(roles)
            ],
            "points": [
                {"id": f"c{n}", "concurrency": n, "request_rate": "inf", "digest": f"{number}-{n}"}
                for n in loads
            ],
            "notes": ["router ignored: one replica"] if number == 0 else [],
            "cluster": {"cluster": "lab", "gpu_hour_price": {"h100": 2.5}},
            "resolved": {"model": {"precision": "fp8"}, "benchmark": {"type": "sa-bench"}},
            "deployment": {"processes": [
                {"mode": mode, "index": int(index), "node": f"n{i}", "gpus": list(range(8))}
                for i, (mode, index) in enumerate(role.split("_") for role in roles)
            ]},
        },
    )  # fmt: skip
    for concurrency in loads:
        if (number, concurrency) != (2, 256):
            write_point(place, number, gpus, concurrency)
    if number == 0:
        hosts = [
            {"name": f"n{i}", "host": f"node{i + 11}", "address": f"10.0.0.{i}"} for i in range(gpus // 8)
        ]
        times = {"started_at": "2025-03-01T10:00:00+00:00", "finished_at": "2025-03-01T10:30:00+00:00"}
        put(
            place / "run.json",
            {"schema": 1, "digest": f"sha256:{0:064x}", "job_id": "4711", "nodes": hosts} | times,
        )
    if number == 2:
        write_failure(place)


def write_point(place: Path, number: int, gpus: int, concurrency: int) -> None:
    """One measured point; c256 of configuration 1 did not pass."""
    valid = (number, concurrency) != (1, 256)
    failed = 0 if valid else 37
    completed = concurrency * 10 - failed
    put(
        place / "points" / f"c{concurrency}" / ("result.json" if valid else "invalid.json"),
        {
            "schema": 1, "digest": f"{number}-{concurrency}", "valid": valid,
            "reasons": [] if valid else ["37 of 2560 requests failed (limit 0): 37 timeouts"],
            "load": {"isl": 1024, "osl": 1024, "concurrency": concurrency, "request_rate": "inf"},
            "model": "meta-llama/Llama-3.1-70B-Instruct", "started_at": "2025-03-01T10:05:00+00:00",
            "duration_s": 240.0,
            "requests": {"asked": concurrency * 10, "completed": completed, "failed": failed},
            "tokens": {"input": completed * 1024, "output": completed * 1024},
            "metrics": metrics(number, gpus, concurrency),
        },
    )  # fmt: skip


def write_failure(place: Path) -> None:
    """A decode worker ran out of memory."""
    log = place / "logs" / "decode_0.err"
    log.parent.mkdir(parents=True)
    log.write_text("torch.OutOfMemoryError\n")
    put(
        place / "failure.json",
        {
            "schema": 1, "digest": f"sha256:{2:064x}", "stage": "benchmark",
            "message": "decode_0 ended while point c256 was measured", "step": "decode_0", "node": "node23",
            "exit_code": 137, "signal": "SIGKILL", "log": "logs/decode_0.err",
            "tail": [
                "Capture cuda graph bs [1, 2, 4, 8]",
                "\x1b[31mtorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB.\x1b[0m",
                "<script>alert('a log line is text')</script>",
            ],
            "at": "2025-03-01T11:00:00+00:00",
        },
    )  # fmt: skip


def put(path: Path, content: dict[str, Any]) -> None:
    """Write JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
