"""The roll-up of one configuration in the form that srt-slurm's users read: benchmark-rollup.json and .csv.

Only valid points are in it. Form and formulas are those of srt-slurm's sa-bench rollup: "working" GPUs are
those of workers, the other counts those of the nodes that workers take, without infra and service nodes.
"""

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from servesweep.report.columns import ROLES, Row
from servesweep.report.rows import number

JSON_NAME, CSV_NAME = "benchmark-rollup.json", "benchmark-rollup.csv"
RUN_KEYS = {
    "concurrency": "concurrency",
    "throughput_toks": "output_throughput_tok_s",
    "request_throughput": "request_throughput_per_s",
    **{
        f"{name}_{stat}_ms": f"{stat}_{name}_ms"
        for name in ("ttft", "tpot", "itl")
        for stat in ("mean", "p99")
    },
    "e2el_mean_ms": "mean_e2el_ms",
    "completed_requests": "requests_completed",
    "total_input_tokens": "input_tokens",
    "total_output_tokens": "output_tokens",
}
RUNNING = re.compile(r"#running-req:\s*(\d+)")
DECODE_LOGS = "*decode*.out"


def rollup_json(rows: Sequence[Row], benchmark_type: str) -> str:
    """Return the JSON form of one configuration's rows; its timestamp is that of the last point."""
    valid = _valid(rows)
    first = valid[0] if valid else {}
    starts = [str(row["started_at"]) for row in valid if row.get("started_at")]
    rolled = {
        "benchmark_type": benchmark_type,
        "timestamp": max(starts, default=None),
        "config": {name: first.get(name) for name in ("model", "isl", "osl")},
        "runs": [{theirs: row.get(ours) for theirs, ours in RUN_KEYS.items()} for row in valid],
    }
    return json.dumps(rolled, indent=2) + "\n"


def rollup_csv(rows: Sequence[Row], running_p90: int | None = None) -> str:
    """Return the CSV form: one line a valid point, floats with at most three decimals."""
    lines = [_line(row, running_p90) for row in _valid(rows)]
    lines.sort(key=lambda line: -1 if line["Concurrency"] is None else line["Concurrency"])
    text = io.StringIO()
    writer = csv.DictWriter(text, list(_line({}, None)), lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


def p90_running_requests(logs: Path) -> int | None:
    """90th percentile (nearest rank) of the running requests that SGLang's decode workers log, if they do."""
    found = sorted(_running(sorted(logs.glob(DECODE_LOGS))))
    return found[math.ceil(0.9 * len(found)) - 1] if found else None


def _running(logs: Iterable[Path]) -> list[int]:
    counts: list[int] = []
    for log in logs:
        with log.open(errors="replace") as lines:
            counts += [int(match[1]) for line in lines if (match := RUNNING.search(line))]
    return counts


def _valid(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.get("status") == "valid"]


def _line(row: Row, running_p90: int | None) -> dict[str, Any]:
    """One line under the headings that srt-slurm uses."""
    of_a_node, working = number(row, "gpus_per_node"), number(row, "total_gpus")
    prefill, decode, agg = (number(row, f"{role}_gpus") for role in ROLES)
    serving = decode or agg  # aggregated workers decode too
    total = number(row, "total_throughput_tok_s")
    held = [_on_whole_nodes(gpus, of_a_node) for gpus in (prefill, serving)]
    cells: dict[str, str | float | None] = {
        "Config": str(row.get("configuration") or ""),
        "Total GPU Count": _sum_within(held, number(row, "allocated_gpus")),
        "Decode GPU Count": held[1],
        "Total Working GPU Count": working,
        "Decode Working GPU Count": serving,
        "Prefill Working GPU Count": prefill,
        "Concurrency": number(row, "concurrency"),
        "Total Token Throughput": total,
        "Output Token Throughput": number(row, "output_throughput_tok_s"),
        "Median TTFT": number(row, "median_ttft_ms"),
        "Median TPOT": number(row, "median_tpot_ms"),
        "Median ITL": number(row, "median_itl_ms"),
        "P90 Decode Running Requests": running_p90,
        "Output Token Throughput per User": number(row, "output_tok_s_per_user"),
        "Total Token Throughput per GPU": total / working if total is not None and working else None,
    }
    return {name: _short(cell) for name, cell in cells.items()}


def _on_whole_nodes(gpus: float | None, of_a_node: float | None) -> float | None:
    """GPUs of the nodes that so many GPUs take."""
    return math.ceil(gpus / of_a_node) * of_a_node if gpus is not None and of_a_node else gpus


def _sum_within(parts: Sequence[float | None], most: float | None) -> float | None:
    """The sum, where any part is known; roles that share a node would count it twice, but for `most`."""
    known = [part for part in parts if part is not None]
    return min(sum(known), sum(known) if most is None else most) if known else None


def _short(cell: str | float | None) -> str | float | None:
    if not isinstance(cell, float):
        return cell
    return int(cell) if cell.is_integer() else round(cell, 3)
