"""srt-slurm's roll-ups, benchmark-rollup.json and benchmark-rollup.csv, as rows. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from servesweep.report.columns import Row, empty_row
from servesweep.report.imports.finishing import finished
from servesweep.report.imports.sa_bench import renamed
from servesweep.report.rollup import RUN_KEYS
from servesweep.report.rows import rate

NAMES = {
    "Total GPU Count": "allocated_gpus",
    "Total Working GPU Count": "total_gpus",
    "Decode Working GPU Count": "decode_gpus",
    "Prefill Working GPU Count": "prefill_gpus",
    "Concurrency": "concurrency",
    "Total Token Throughput": "total_throughput_tok_s",
    "Output Token Throughput": "output_throughput_tok_s",
    "Median TTFT": "median_ttft_ms",
    "Median TPOT": "median_tpot_ms",
    "Median ITL": "median_itl_ms",
    "Total Token Throughput per GPU": "total_tok_s_per_gpu",
}
WHOLE = {"allocated_gpus", "total_gpus", "decode_gpus", "prefill_gpus", "concurrency"}


def is_rollup(data: Mapping[str, Any]) -> bool:
    """Whether this is srt-slurm's benchmark-rollup.json."""
    return isinstance(data.get("runs"), list) and "benchmark_type" in data


def rollup_rows(data: Mapping[str, Any], name: str) -> list[Row]:
    """One row a run of the roll-up."""
    config = data.get("config")
    config = config if isinstance(config, dict) else {}
    shared = {key: config.get(key) for key in ("model", "isl", "osl")} | {"started_at": data.get("timestamp")}
    runs = [run for run in data["runs"] if isinstance(run, dict)]
    return [finished(renamed(name, run, RUN_KEYS) | shared) for run in runs]


def is_rollup_csv(names: Sequence[str]) -> bool:
    """Whether these are the headings of a roll-up."""
    return {"Config", "Concurrency", "Output Token Throughput"} <= set(names)


def rollup_csv_rows(lines: Sequence[Mapping[str, str]]) -> list[Row]:
    """One row a line."""
    return [_row(line) for line in lines]


def _row(line: Mapping[str, str]) -> Row:
    row = empty_row() | {"configuration": line["Config"], "request_rate": rate("inf"), "repeat": 0}
    for theirs, ours in NAMES.items():
        value = rate(line.get(theirs) or None)
        row[ours] = int(value) if value is not None and ours in WHOLE else value
    if not row["prefill_gpus"]:
        row |= {"agg_gpus": row["decode_gpus"], "decode_gpus": 0}
    return finished(row)
