"""The columns of the tables: name with its unit, kind, and what it means."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "integer", "number", "flag"]
Cell = str | int | float | bool | None
Row = dict[str, Cell]

ROLES = ("prefill", "decode", "agg")
LATENCIES = {
    "ttft": "time to first token",
    "tpot": "time per output token after the first, one value a request",
    "itl": "gap between two streamed pieces that follow each other",
    "e2el": "time from sending a request to its last token",
}
STATISTICS = {
    "mean": "mean",
    "median": "median",
    "std": "standard deviation (divisor n)",
    **{f"p{n}": f"{n}th percentile" for n in (50, 90, 95, 99)},
}


@dataclass(frozen=True)
class Column:
    """One column: its name says its unit, `kind` is its type in Parquet."""

    name: str
    kind: Kind
    meaning: str


WHAT = (
    Column("configuration", "text", "one resolved variant of a recipe"),
    Column("name", "text", "the recipe's own name for it"),
    Column("recipe", "text", "recipe file"),
    Column("variant", "text", "variant within the file"),
    Column("engine", "text", "engine, or those of the roles joined by +"),
    Column("frontend", "text", "what routes the requests"),
    Column("model", "text", "model name that was asked for"),
    Column("precision", "text", "precision of the weights, as the recipe says it"),
    Column("gpu_type", "text", "GPU model"),
)
GPUS = (
    Column("nodes", "integer", "nodes of the allocation"),
    Column("gpus_per_node", "integer", "GPUs of a node"),
    Column("allocated_gpus", "integer", "GPUs that the job holds: nodes × gpus_per_node"),
    Column("total_gpus", "integer", "GPUs of all workers: the denominator of every …_per_gpu"),
    *(Column(f"{role}_gpus", "integer", f"GPUs of all {role} workers") for role in ROLES),
    *(Column(f"num_{role}", "integer", f"{role} workers, replicas included") for role in ROLES),
    *(
        Column(f"{role}_{size}", "integer", f"{meaning} of one {role} worker")
        for role in ROLES
        for size, meaning in (
            ("tp", "tensor-parallel size"),
            ("pp", "pipeline-parallel size"),
            ("dp", "data-parallel size"),
            ("ep", "expert-parallel size"),
        )
    ),
)
LOAD = (
    Column("point", "text", "load level"),
    Column("isl", "integer", "input tokens asked for"),
    Column("osl", "integer", "output tokens asked for"),
    Column("concurrency", "integer", "most requests in flight"),
    Column("request_rate", "number", "requests per second asked for; inf: as soon as one may"),
    Column("repeat", "integer", "number of the repetition, from 0"),
    Column("status", "text", "valid, invalid, failed or not run"),
    Column("reason", "text", "why it is not valid"),
)
COUNTS = (
    Column("requests_asked", "integer", "requests that were to be measured"),
    Column("requests_completed", "integer", "requests answered in full"),
    Column("requests_failed", "integer", "requests that failed; they enter no latency"),
    Column("request_errors", "text", "failed requests by kind: http_500=3;timeout=2"),
    Column("input_tokens", "integer", "prompt tokens of the completed requests"),
    Column("output_tokens", "integer", "output tokens of the completed requests"),
)
MEASURED = (
    *(
        Column(f"{statistic}_{latency}_ms", "number", f"{word}: {meaning}")
        for latency, meaning in LATENCIES.items()
        for statistic, word in STATISTICS.items()
    ),
    Column("request_throughput_per_s", "number", "completed requests / duration"),
    Column("request_goodput_per_s", "number", "completed requests that keep the goodput limits / duration"),
    Column("output_throughput_tok_s", "number", "output tokens / duration, of the whole deployment"),
    Column("input_throughput_tok_s", "number", "prompt tokens / duration"),
    Column("total_throughput_tok_s", "number", "prompt and output tokens / duration"),
    Column("output_tok_s_per_gpu", "number", "output_throughput_tok_s / total_gpus"),
    Column("total_tok_s_per_gpu", "number", "total_throughput_tok_s / total_gpus"),
    Column("output_tok_s_per_user", "number", "1000 / median_tpot_ms"),
    Column("output_tok_s_per_decode_gpu", "number", "output_throughput_tok_s / decode_gpus"),
    Column("input_tok_s_per_prefill_gpu", "number", "input_throughput_tok_s / prefill_gpus"),
)
DERIVED = (
    Column("output_tok_s_per_allocated_gpu", "number", "output_throughput_tok_s / allocated_gpus"),
    Column("gpu_hour_price_usd", "number", "price of a GPU of this type for an hour, of the cluster file"),
    Column(
        "cost_usd_per_million_output_tokens",
        "number",
        "gpu_hour_price_usd × 1,000,000 / (3600 × output_tok_s_per_gpu)",
    ),
    Column(
        "cost_usd_per_million_total_tokens",
        "number",
        "gpu_hour_price_usd × 1,000,000 / (3600 × total_tok_s_per_gpu)",
    ),
    Column("slo_met", "flag", "whether every objective of the recipe was kept; empty where it has none"),
    Column("slo_missed", "text", "the objectives that were not kept"),
    Column("client_saturated", "flag", "the client was too busy for its times to be trusted"),
    Column("client_lag_p99_ms", "number", "99th percentile of how late the client itself woke up"),
)
ORIGIN = (
    Column("started_at", "text", "UTC time at which the measured phase began, ISO 8601"),
    Column("duration_s", "number", "first send to last token of the completed requests"),
    Column("digest", "text", "identity of the point: deployment, load, version of the result"),
    Column("job_id", "text", "Slurm job"),
)
# Of the numbers that people read first.
WITH_INTERVAL = (
    *("request_throughput_per_s", "output_throughput_tok_s", "output_tok_s_per_gpu", "output_tok_s_per_user"),
    *(f"{percentile}_{latency}_ms" for latency in ("ttft", "itl", "e2el") for percentile in ("p50", "p99")),
)
HALF_WIDTH = "half_width_95_"
# Behind all others, whose places stay.
REPEATED = tuple(
    Column(
        f"{HALF_WIDTH}{name}",
        "number",
        f"half width of the 95 % interval of {name} over the repeats of the level; empty without",
    )
    for name in WITH_INTERVAL
)
COLUMNS = (*WHAT, *GPUS, *LOAD, *COUNTS, *MEASURED, *DERIVED, *ORIGIN, *REPEATED)
NAMES = tuple(column.name for column in COLUMNS)
TAKEN = frozenset(NAMES) - {column.name for column in MEASURED}
"""Columns that no metric of a result fills: the table itself knows what stands there."""


def empty_row() -> Row:
    """A row of which nothing is known, with every column in order."""
    return dict.fromkeys(NAMES)
