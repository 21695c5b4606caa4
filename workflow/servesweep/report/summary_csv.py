"""The sweep as CSV: one row a point, a fixed column order, units in the names."""

import csv
import io

from servesweep.report.files import Plan, Result
from servesweep.report.sweep import Configuration, Point, Sweep

Cell = str | int | float | None

FACTS = (
    *("configuration", "name", "engine", "frontend", "model", "gpu_type", "nodes", "total_gpus"),
    *("prefill_gpus", "decode_gpus", "num_prefill", "num_decode", "num_agg"),
    *("point", "isl", "osl", "concurrency", "request_rate", "repeat", "status", "reason"),
)
COUNTS = (
    *("requests_asked", "requests_completed", "requests_failed", "request_errors"),
    *("input_tokens", "output_tokens"),
)
METRICS = (
    *(
        f"{statistic}_{latency}_ms"
        for latency in ("ttft", "tpot", "itl", "e2el")
        for statistic in ("mean", "median", "std", "p50", "p90", "p95", "p99")
    ),
    *("request_throughput_per_s", "output_throughput_tok_s", "input_throughput_tok_s"),
    *("total_throughput_tok_s", "output_tok_s_per_gpu", "total_tok_s_per_gpu", "output_tok_s_per_user"),
)
ORIGIN = ("started_at", "duration_s", "digest", "job_id")


def summary_csv(sweep: Sweep) -> str:
    """Return the CSV text of a sweep.

    Metrics that this version does not name come last, in alphabetical order, so that the position of every
    known column stays. Numbers are written as measured, unrounded; a missing value is an empty cell.
    """
    measured = {key for point in sweep.points if point.result for key in point.result.metrics}
    columns = (*FACTS, *COUNTS, *METRICS, *ORIGIN, *sorted(measured - set(METRICS)))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", restval="")
    writer.writeheader()
    for configuration in sweep.configurations:
        for point in configuration.points:
            writer.writerow(_row(configuration, point))
    return text.getvalue()


def _row(configuration: Configuration, point: Point) -> dict[str, Cell]:
    row: dict[str, Cell] = {"configuration": configuration.id}
    if configuration.plan:
        row |= _plan_cells(configuration.plan)
    row |= {
        "point": point.id,
        "isl": point.isl,
        "osl": point.osl,
        "concurrency": point.concurrency,
        "request_rate": point.request_rate,
        "repeat": point.plan.repeat if point.plan else None,
        "status": point.status,
        "reason": point.reason,
        "digest": point.plan.digest if point.plan else None,
        "job_id": configuration.job_id,
    }
    if point.result:
        row |= _result_cells(point.result)
    return row


def _plan_cells(plan: Plan) -> dict[str, Cell]:
    topology = plan.topology
    return {
        "name": plan.name,
        "engine": plan.engine,
        "frontend": plan.frontend,
        "model": plan.served_model,
        "gpu_type": plan.gpu_type,
        "nodes": topology.total_nodes,
        "total_gpus": topology.total_gpus,
        "prefill_gpus": topology.prefill_gpus,
        "decode_gpus": topology.decode_gpus,
        "num_prefill": topology.num_prefill,
        "num_decode": topology.num_decode,
        "num_agg": topology.num_agg,
    }


def _result_cells(result: Result) -> dict[str, Cell]:
    errors = ";".join(f"{kind}={number}" for kind, number in sorted(result.requests.errors.items()))
    return {
        "requests_asked": result.requests.asked,
        "requests_completed": result.requests.completed,
        "requests_failed": result.requests.failed,
        "request_errors": errors,
        "input_tokens": result.tokens.input,
        "output_tokens": result.tokens.output,
        "started_at": result.started_at,
        "duration_s": result.duration_s,
        **result.metrics,
    }
