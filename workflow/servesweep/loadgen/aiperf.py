"""`python3 -m servesweep.loadgen.aiperf ABOUT.json --output DIR/result.json`: one point by NVIDIA's aiperf.

The numbers are aiperf's own under this project's names; its files lie in `aiperf/` beside the result.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from servesweep.loadgen.excerpt import excerpt
from servesweep.loadgen.foreign import Ended, foreign_result, run_to_the_end, write_foreign
from servesweep.loadgen.hub_cache import as_hub_cache
from servesweep.loadgen.slo import mark

EXPORT = "profile_export_aiperf.json"
# aiperf's "inter token latency" is the mean of one request, which is called TPOT here.
LATENCIES = {
    "ttft": "time_to_first_token",
    "tpot": "inter_token_latency",
    "itl": "inter_chunk_latency",
    "e2el": "request_latency",
}
FIGURES = {
    "mean": "avg", "median": "p50", "std": "std", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99",
}  # fmt: skip
RATES = {
    "request_throughput_per_s": "request_throughput",
    "request_goodput_per_s": "goodput",
    "output_throughput_tok_s": "output_token_throughput",
    "input_throughput_tok_s": "input_token_throughput",
    "total_throughput_tok_s": "total_token_throughput",
}
PATIENCE_S = "300"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns 0 for a valid point, else 1."""
    parser = argparse.ArgumentParser(prog="python3 -m servesweep.loadgen.aiperf")
    parser.add_argument("about", type=Path, help="JSON with the point's names, the server, trace and options")
    parser.add_argument("--output", type=Path, required=True, help="where a valid result is written")
    options = parser.parse_args(arguments)
    about = json.loads(options.about.read_text())
    directory = options.output.resolve().with_name("aiperf")
    shutil.rmtree(directory, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="aiperf-") as cache:
        own = tokenizer(about, Path(cache))
        command = [sys.executable, "-m", "aiperf", *words({**about, **own}, directory)]
        ended = run_to_the_end(command, environment(Path(cache) if own else None))
    return write_foreign(result_of(about, directory, ended), options.output, "aiperf")


def words(about: Mapping[str, Any], directory: Path) -> list[str]:
    """aiperf's arguments; the recipe's own `aiperf_args` come last and win."""
    limits = (
        f"time_to_first_token:{about['ttft_threshold_ms']} inter_token_latency:{about['itl_threshold_ms']}"
    )
    made = ["profile", "--model", about["model"], "--url", about["url"]]
    made += ["--endpoint-type", "chat", "--streaming", "--tokenizer", about["tokenizer"] or "builtin"]
    made += ["--input-file", about["trace_file"], "--custom-dataset-type", "mooncake_trace"]
    made += ["--extra-inputs", "ignore_eos:true", "--goodput", limits, "--ui", "none", "--no-gpu-telemetry"]
    made += ["--output-artifact-dir", str(directory), "--random-seed", str(seed(about))]
    if about["concurrency"] is None:
        made += ["--fixed-schedule"]
    else:
        made += ["--no-fixed-schedule", "--concurrency", str(about["concurrency"])]
        if "request_count" not in _plain(about["aiperf_args"]):
            made += ["--request-count", str(trace_length(Path(about["trace_file"])))]
    scraped = os.environ.get("AIPERF_SERVER_METRICS_URLS")
    if scraped and not {"server_metrics", "no_server_metrics"} & _plain(about["aiperf_args"]).keys():
        made += ["--server-metrics", *scraped.split(",")]
    return [*made, *_own(about["aiperf_args"])]


def tokenizer(about: Mapping[str, Any], cache: Path) -> dict[str, str]:
    """What to say instead of a tokenizer's directory, which is made to be in `cache`; nothing for any other.

    aiperf 0.13 takes a directory as it is only where the hub may be asked; some of its processes never do.
    """
    directory = Path(about["tokenizer"] or "")
    return {"tokenizer": as_hub_cache(directory, cache)} if about["tokenizer"] and directory.is_dir() else {}


def environment(cache: Path | None = None) -> dict[str, str]:
    """Its environment: patience with its own processes on a busy head node, which the user may set otherwise,
    and the cache that has the tokenizer, without a look elsewhere."""
    names = ("REGISTRATION_TIMEOUT", "START_TIMEOUT", "PROFILE_START_TIMEOUT")
    patience = {
        name: PATIENCE_S for name in (f"AIPERF_SERVICE_{name}" for name in names) if name not in os.environ
    }
    if cache is None:
        return patience
    return patience | {"HF_HUB_CACHE": str(cache), "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


def seed(about: Mapping[str, Any]) -> int:
    """Seed of the texts that the trace's blocks become: another one at each point, so none warms the next."""
    return zlib.crc32(f"{about['seed']} {about['point']}".encode()) >> 1


def trace_length(trace: Path) -> int:
    """Requests in a trace, one a line."""
    with trace.open(encoding="utf-8") as lines:
        return sum(1 for line in lines if line.strip())


def result_of(about: Mapping[str, Any], directory: Path, ended: Ended) -> dict[str, Any]:
    """The point's record from aiperf's export, valid or not."""
    try:
        export = json.loads((directory / EXPORT).read_bytes())
    except (OSError, ValueError):
        export = {}
    completed, failed = _number(export, "request_count") or 0, _number(export, "error_request_count") or 0
    metrics = metrics_of(export, about) if export else {}
    slo = mark(about["slo"], metrics)
    return foreign_result(
        about,
        reasons=[*_reasons(about, export, ended, int(completed), int(failed))],
        load={key: about[key] for key in ("trace_file", "concurrency", "aiperf_args")}
        | {"seed": seed(about)},
        started_at=ended.started_at,
        duration_s=_number(export, "benchmark_duration") or ended.duration_s,
        metrics=metrics,
        notes=[f"Measured by aiperf {importlib.metadata.version('aiperf')}, with its own definitions."],
        requests={
            "asked": int(completed + failed),
            "completed": int(completed),
            "failed": int(failed),
            "errors": {_named(e): e["count"] for e in export.get("error_summary") or ()},
            "error_examples": {_named(e): _message(e) for e in export.get("error_summary") or ()},
        },
        tokens={"input": _tokens(export, "total_isl"), "output": _tokens(export, "total_osl")},
        slo=slo.model_dump() if slo else None,
    )


def _reasons(
    about: Mapping[str, Any], export: Mapping[str, Any], ended: Ended, completed: int, failed: int
) -> Iterator[str]:
    if ended.code or not export:
        told = f"aiperf ended with code {ended.code}" if ended.code else "aiperf left no result"
        yield excerpt(f"{told}: {cause_of(ended.tail)}")
        return
    if export.get("was_cancelled") or export.get("is_complete") is False:
        yield "aiperf did not finish its load"
    if failed > about["max_failed_fraction"] * (completed + failed):
        errors = export.get("error_summary") or [{}]
        yield f"{failed} of {completed + failed} requests failed ({_message(errors[0])})"
    if not completed:
        yield "no request completed"
    elif not _tokens(export, "total_osl"):
        yield "the completed requests hold no output tokens"
    if (lasted := _number(export, "benchmark_duration") or 0.0) < about["min_duration_s"]:
        yield f"it lasted {lasted:.3g} s, at least {about['min_duration_s']:g} were asked"


def cause_of(tail: Sequence[str]) -> str:
    """What aiperf said when it failed: its first error, the text of its last box, or its last line."""
    for line in tail:
        if " ERROR " in line:
            return line.partition(" ERROR ")[2].strip()
    boxed = [line.strip("│ ") for line in tail if line.startswith("│")]
    plain = [line.strip() for line in tail if line.strip() and line[0] not in "╭╰"]
    return " ".join(boxed) or (plain[-1] if plain else "it said nothing")


def metrics_of(export: Mapping[str, Any], about: Mapping[str, Any]) -> dict[str, float | None]:
    """aiperf's figures by this project's names, with the rates per GPU and per user."""
    metrics: dict[str, float | None] = {}
    for name, theirs in LATENCIES.items():
        for figure, stat in FIGURES.items():
            metrics[f"{figure}_{name}_ms"] = _number(export, theirs, stat)
    metrics |= {name: _number(export, theirs) for name, theirs in RATES.items()}
    for name, rate, gpus in (
        ("output_tok_s_per_gpu", "output_throughput_tok_s", "total_gpus"),
        ("total_tok_s_per_gpu", "total_throughput_tok_s", "total_gpus"),
        ("output_tok_s_per_decode_gpu", "output_throughput_tok_s", "decode_gpus"),
        ("input_tok_s_per_prefill_gpu", "input_throughput_tok_s", "prefill_gpus"),
    ):
        whole = metrics[rate]
        metrics[name] = whole / about[gpus] if whole is not None and about[gpus] else None
    tpot = metrics["median_tpot_ms"]
    metrics["output_tok_s_per_user"] = 1e3 / tpot if tpot else None
    return metrics


def _number(export: Mapping[str, Any], key: str, stat: str = "avg") -> float | None:
    value = (export.get(key) or {}).get(stat)
    return float(value) if isinstance(value, int | float) else None


def _tokens(export: Mapping[str, Any], key: str) -> int:
    return int(_number(export, key) or 0)


def _named(error: Mapping[str, Any]) -> str:
    details = error.get("error_details") or {}
    return f"HTTP {details['code']}" if details.get("code") else str(details.get("type") or "failed")


def _message(error: Mapping[str, Any]) -> str:
    return excerpt(str((error.get("error_details") or {}).get("message", "")))


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {key.lstrip("-").replace("-", "_"): value for key, value in arguments.items()}


def _own(arguments: Mapping[str, Any]) -> Iterator[str]:
    """The recipe's own arguments: true is a bare flag, false and null leave it out, a list repeats values."""
    for key, value in _plain(arguments).items():
        if value in (None, False):
            continue
        yield "--" + key.replace("_", "-")
        if value is not True:
            yield from map(str, value if isinstance(value, list) else [value])


if __name__ == "__main__":
    sys.exit(main())
