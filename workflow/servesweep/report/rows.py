"""The table of a sweep: one row a point, whatever became of it."""

import math
from collections.abc import Mapping, Sequence

from servesweep.report.columns import HALF_WIDTH, NAMES, ROLES, TAKEN, WITH_INTERVAL, Cell, Row, empty_row
from servesweep.report.files import Result
from servesweep.report.parallelism import sizes
from servesweep.report.plan_file import Plan
from servesweep.report.prices import Prices, price_of
from servesweep.report.repeats import repeats_of
from servesweep.report.sweep import Configuration, Point, Sweep


def sweep_rows(sweep: Sweep, prices: Prices | None = None) -> list[Row]:
    """Return one row a point, in the sweep's order.

    Every row has every name of `columns.NAMES`, None where nothing is known, and after them the metrics that
    this version does not name. `prices` None takes those that each configuration was planned with.
    """
    return [
        point_row(configuration, point, prices) | widths.get(point.id, {})
        for configuration in sweep.configurations
        for widths in [_half_widths(configuration)]
        for point in configuration.points
    ]


def _half_widths(configuration: Configuration) -> dict[str, Row]:
    """What the repeats of a level say together, in the row of each one that is counted."""
    return {
        point: {
            f"{HALF_WIDTH}{name}": repeats.metrics[name].half_width_95
            for name in WITH_INTERVAL
            if name in repeats.metrics
        }
        for repeats in repeats_of(configuration).values()
        for point in repeats.points
    }


def names_of(rows: Sequence[Row]) -> list[str]:
    """The columns of a table: the known ones first, so that their positions stay, then others by name."""
    others = {name for row in rows for name in row} - set(NAMES)
    return [*NAMES, *sorted(others)]


def point_row(configuration: Configuration, point: Point, prices: Prices | None = None) -> Row:
    """Return the row of one point. Numbers stand as measured, unrounded, also those of invalid points."""
    row = empty_row()
    row["configuration"] = configuration.id
    if configuration.plan:
        row |= _plan_cells(configuration.plan)
    row |= {
        "point": point.id,
        "isl": point.isl,
        "osl": point.osl,
        "concurrency": point.concurrency,
        "request_rate": rate(point.request_rate),
        "repeat": point.plan.repeat if point.plan else None,
        "status": point.status,
        "reason": point.reason or None,
        "digest": (point.plan.digest or None) if point.plan else None,
        "job_id": configuration.job_id or None,
    }
    if point.result:
        row |= _result_cells(point.result)
    return complete(row, gpu_hour_price(configuration, prices))


def gpu_hour_price(configuration: Configuration, prices: Prices | None) -> float | None:
    """Dollars for an hour of one GPU of a configuration; None where nobody says it.

    A price decides nothing about a measurement, so a new one plans nothing again: given ones win over those
    that the configuration was planned with.
    """
    plan = configuration.plan
    if plan is None:
        return None
    return price_of(plan.gpu_type, plan.cluster.gpu_hour_price if prices is None else prices)


def complete(row: Row, price: float | None = None) -> Row:
    """Return the row with what follows from its other cells: per allocated GPU, and the costs.

    A GPU that costs P dollars an hour and puts out T tokens a second makes 3600 T tokens of those P dollars.
    """
    output = number(row, "output_throughput_tok_s")
    derived: dict[str, Cell] = {
        "output_tok_s_per_allocated_gpu": _quotient(output, number(row, "allocated_gpus")),
        "gpu_hour_price_usd": price,
    }
    for tokens in ("output", "total"):
        per_gpu = number(row, f"{tokens}_tok_s_per_gpu")
        hourly = None if per_gpu is None else per_gpu * 3600 / 1e6
        derived[f"cost_usd_per_million_{tokens}_tokens"] = _quotient(price, hourly)
    return row | derived


def number(row: Mapping[str, Cell], name: str) -> float | None:
    """A cell as a number; None for what is missing or is none."""
    value = row.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def rate(value: float | str | None) -> float | None:
    """A request rate as a number, `inf` included; None for what is none."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def _quotient(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under and math.isfinite(under) else None


def _plan_cells(plan: Plan) -> Row:
    topology = plan.topology
    cells: Row = {
        "name": plan.name or None,
        "recipe": plan.recipe or None,
        "variant": plan.variant,
        "engine": plan.engine or None,
        "frontend": plan.frontend or None,
        "model": plan.served_model or None,
        "precision": plan.precision,
        "gpu_type": plan.gpu_type,
        "nodes": topology.total_nodes,
        "gpus_per_node": topology.gpus_per_node,
        "allocated_gpus": topology.allocated_gpus,
        "total_gpus": topology.total_gpus,
    }
    for role in ROLES:
        gpus, workers = getattr(topology, f"{role}_gpus"), getattr(topology, f"num_{role}")
        cells |= {f"{role}_gpus": gpus, f"num_{role}": workers}
        if workers:
            each = gpus // workers if gpus else None
            found = sizes(plan.command_line(role), plan.arguments(role), each)
            cells |= {f"{role}_{size}": value for size, value in found.items()}
    return cells


def _result_cells(result: Result) -> Row:
    errors = ";".join(f"{kind}={number}" for kind, number in sorted(result.requests.errors.items()))
    return {
        "requests_asked": result.requests.asked,
        "requests_completed": result.requests.completed,
        "requests_failed": result.requests.failed,
        "request_errors": errors or None,
        "input_tokens": result.tokens.input,
        "output_tokens": result.tokens.output,
        "slo_met": result.slo.met if result.slo else None,
        "slo_missed": "; ".join(result.slo.missed) or None if result.slo else None,
        "client_saturated": result.client.saturated,
        "client_lag_p99_ms": result.client.lag_ms_p99,
        "started_at": result.started_at,
        "duration_s": result.duration_s,
        **{f"custom_{name}" if name in TAKEN else name: value for name, value in result.metrics.items()},
    }
