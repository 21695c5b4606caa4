"""What the page draws and lists: one flat record a point, and the frontier of each workload."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Literal

from servesweep.report.measures import PAGE
from servesweep.report.pareto import frontier
from servesweep.report.plan_file import Topology
from servesweep.report.prices import Prices
from servesweep.report.rows import number, point_row, rate
from servesweep.report.sweep import Configuration, Point, Sweep
from servesweep.report.views import PER_GPU, View, X, Y

Value = str | float | None
Record = dict[str, Value]
Axis = Literal["concurrency", "request rate"]

MEASURES = tuple(dict.fromkeys((*(m.key for m in PAGE), X, Y, "total_tok_s_per_gpu")))
DIGITS = 6


def point_records(sweep: Sweep, prices: Prices | None = None) -> list[Record]:
    """Return every point as a record; numbers have six digits, and a point that is not valid has none.

    `load` is a point's place on the load axis, if it has one; `rank` numbers the load levels of the sweep,
    and repeats share it.
    """
    axis = load_axis(sweep.points)
    levels = sorted({_level(point) for point in sweep.points})
    ranks = {level: float(place) for place, level in enumerate(levels)}
    return [
        _labels(configuration, point)
        | {"load": _load(point, axis), "rank": ranks[_level(point)]}
        | _measured(configuration, point, prices)
        for configuration in sweep.configurations
        for point in configuration.points
    ]


def valid_records(sweep: Sweep, prices: Prices | None = None) -> list[Record]:
    """Return the records of the valid points: what is drawn."""
    return [record for record in point_records(sweep, prices) if record["status"] == "valid"]


def load_axis(points: Iterable[Point]) -> Axis:
    """Choose what tells the loads apart: the request rate when it is what varies, else the concurrency."""
    valid = [point for point in points if point.status == "valid"]
    rated = any(_rate(point) is not None for point in valid)
    return "request rate" if rated and len({point.concurrency for point in valid}) == 1 else "concurrency"


def workload(point: Point) -> str:
    """Name what is compared with what: the model and the token lengths, such as "m · ISL 1024 · OSL 128"."""
    result = point.result
    lengths = [f"{name} {n}" for name, n in (("ISL", point.isl), ("OSL", point.osl)) if n is not None]
    return " · ".join([*([result.model] if result and result.model else []), *lengths])


def deployment(topology: Topology) -> str:
    """Say the shape of a deployment, such as "2 prefill + 1 decode · 24 GPUs"."""
    roles = (("prefill", topology.num_prefill), ("decode", topology.num_decode), ("agg", topology.num_agg))
    shape = " + ".join(f"{workers} {role}" for role, workers in roles if workers)
    gpus = topology.total_gpus
    return " · ".join(
        part for part in (shape, "" if gpus is None else f"{gpus} GPU{'s' * (gpus != 1)}") if part
    )


def frontier_records(records: Sequence[Record], view: View = PER_GPU) -> list[Record]:
    """Return the frontier of each workload, over the means of the repeats, from the smallest x on.

    Single repeats would favour whatever was repeated most: the best of many noisy values is too good.
    """
    groups: dict[tuple[Value, Value, Value], list[tuple[float, float]]] = defaultdict(list)
    for record in records:
        x, y = record[view.x], record[view.y]
        if isinstance(x, float) and isinstance(y, float):
            groups[record["workload"], record["configuration"], record["rank"]].append((x, y))
    means = {key: (fmean(x for x, _ in xy), fmean(y for _, y in xy)) for key, xy in groups.items()}
    x_sign, y_sign = (-1 if view.x_less else 1), (-1 if view.y_less else 1)
    found: list[Record] = []
    for name in dict.fromkeys(key[0] for key in means):
        keys = [key for key in means if key[0] == name]
        edge = frontier([(x_sign * means[key][0], y_sign * means[key][1]) for key in keys])
        for index in edge[::x_sign]:
            _, configuration, rank = keys[index]
            x, y = means[keys[index]]
            found.append(
                {"workload": name, "configuration": configuration, "rank": rank, view.x: x, view.y: y}
            )
    return found


def _labels(configuration: Configuration, point: Point) -> Record:
    """What a point is called by, and what it can be filtered by."""
    plan = configuration.plan
    return {
        "configuration": configuration.id,
        "point": point.id,
        "status": point.status,
        "reason": point.reason,
        **_objectives(point),
        "engine": plan.engine if plan else "",
        "frontend": plan.frontend if plan else "",
        "gpu": (plan.gpu_type or "") if plan else "",
        "precision": (plan.precision or "") if plan else "",
        "deployment": deployment(plan.topology) if plan else "",
        "workload": workload(point),
        "isl": None if point.isl is None else float(point.isl),
        "osl": None if point.osl is None else float(point.osl),
        "concurrency": None if point.concurrency is None else float(point.concurrency),
        "request_rate": _rate(point),
    }


def _objectives(point: Point) -> Record:
    """Whether a valid point kept the objectives of its recipe, and which it did not; empty without any."""
    slo = point.result.slo if point.result and point.status == "valid" else None
    return {
        "slo": ("met" if slo.met else "missed") if slo else "",
        "missed": "; ".join(slo.missed) if slo else "",
    }


def _measured(configuration: Configuration, point: Point, prices: Prices | None) -> Record:
    if point.status != "valid":
        return dict.fromkeys(MEASURES)
    row = point_row(configuration, point, prices)
    return {key: _rounded(number(row, key)) for key in MEASURES}


def _load(point: Point, axis: Axis) -> float | None:
    if axis == "request rate":
        return _rate(point)
    return None if point.concurrency is None else float(point.concurrency)


def _level(point: Point) -> tuple[float, float]:
    """Concurrency and request rate; what is not limited is the highest load."""
    asked = _rate(point)
    return (
        math.inf if point.concurrency is None else float(point.concurrency),
        math.inf if asked is None else asked,
    )


def _rate(point: Point) -> float | None:
    """The finite request rate of a point, or None."""
    asked = rate(point.request_rate)
    return asked if asked is not None and math.isfinite(asked) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")
