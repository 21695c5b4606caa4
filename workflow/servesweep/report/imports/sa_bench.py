"""Results of sa-bench, and of the serving benchmarks of vLLM and SGLang, whose keys it took over. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from servesweep.report.columns import MEASURED, Row, empty_row
from servesweep.report.files import is_number
from servesweep.report.imports.finishing import finished
from servesweep.report.rows import rate

# Their name to ours, in sa-bench's files and in those of vLLM's and SGLang's serving benchmarks.
COUNTS = {
    "completed": "requests_completed",
    "failed": "requests_failed",
    "num_prompts": "requests_asked",
    "total_input_tokens": "input_tokens",
    "total_input": "input_tokens",
    "total_output_tokens": "output_tokens",
    "total_output": "output_tokens",
    "max_concurrency": "concurrency",
    "duration": "duration_s",
    "request_throughput": "request_throughput_per_s",
    "request_goodput": "request_goodput_per_s",
    "output_throughput": "output_throughput_tok_s",
    "input_throughput": "input_throughput_tok_s",
    "total_token_throughput": "total_throughput_tok_s",
    "total_throughput": "total_throughput_tok_s",
    "median_e2e_latency_ms": "median_e2el_ms",
    "mean_e2e_latency_ms": "mean_e2el_ms",
    "p99_e2e_latency_ms": "p99_e2el_ms",
    "std_e2e_latency_ms": "std_e2el_ms",
}
CONCURRENCY = re.compile(r"_concurrency_\d+")
FILE_NAME = re.compile(r"results_concurrency_\d+_gpus_(\d+)(?:_ctx_(\d+)_gen_(\d+))?")
OURS = {column.name for column in MEASURED}


def is_sa_bench(data: Mapping[str, Any]) -> bool:
    """Whether this is the result of one load of sa-bench, or of vLLM's or SGLang's serving benchmark."""
    return "output_throughput" in data and ("completed" in data or "total_token_throughput" in data)


def sa_bench_rows(data: Mapping[str, Any], name: str) -> list[Row]:
    """One row; of GPUs the file's name alone tells, without which per-GPU columns stay empty."""
    configuration, gpus = named(name)
    row = (
        renamed(configuration, data, COUNTS)
        | gpus
        | {key: data[key] for key in OURS if is_number(data.get(key))}
    )
    row |= {
        "engine": data.get("backend"),
        "model": data.get("model_id") or data.get("model"),
        "started_at": data.get("date"),
        "request_rate": rate(data.get("request_rate", "inf")),
    }
    for ours, theirs in (("isl", "input_lens"), ("osl", "output_lens")):
        lengths = data.get(theirs)
        if isinstance(lengths, list) and lengths and len(set(lengths)) == 1 and is_number(lengths[0]):
            row[ours] = lengths[0]
    return [finished(row)]


def named(name: str) -> tuple[str, Row]:
    """Configuration and GPUs of srt-slurm's name of a file, `results_concurrency_64_gpus_12_ctx_4_gen_8`."""
    found = FILE_NAME.fullmatch(name)
    if found is None:
        return name, {}
    total, prefill, decode = (int(number) if number else 0 for number in found.groups())
    gpus: Row = {"total_gpus": total, "prefill_gpus": prefill, "decode_gpus": decode}
    return CONCURRENCY.sub("", name), gpus | {"agg_gpus": 0 if prefill else total}


def renamed(name: str, data: Mapping[str, Any], names: Mapping[str, str]) -> Row:
    """A row of one closed-loop load that holds the numbers of `data` under our names."""
    row = empty_row() | {"configuration": name, "request_rate": rate("inf"), "repeat": 0}
    return row | {ours: data[theirs] for theirs, ours in names.items() if is_number(data.get(theirs))}
