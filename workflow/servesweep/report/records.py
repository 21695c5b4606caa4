"""What the charts draw: one flat record a valid point, and the frontier of each workload."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Literal

from servesweep.report.files import Topology
from servesweep.report.pareto import frontier
from servesweep.report.sweep import Point, Sweep

Value = str | float | None
Record = dict[str, Value]
Axis = Literal["concurrency", "request rate"]

X, Y = "output_tok_s_per_user", "output_tok_s_per_gpu"
DRAWN = (
    *(X, Y, "output_throughput_tok_s", "request_throughput_per_s"),
    *("p50_ttft_ms", "p99_ttft_ms", "p50_itl_ms", "p99_itl_ms"),
)
DIGITS = 6


def valid_records(sweep: Sweep) -> list[Record]:
    """Return the valid points as records, numbers with six digits.

    `load` is a point's place on the load axis, if it has one; `rank` numbers the load levels of the sweep,
    and repeats share it.
    """
    axis = load_axis(sweep.points)
    levels = sorted({_level(point) for point in sweep.points})
    ranks = {level: float(number) for number, level in enumerate(levels)}
    return [
        {
            "configuration": configuration.id,
            "point": point.id,
            "deployment": deployment(configuration.plan.topology) if configuration.plan else "",
            "workload": workload(point),
            "load": _load(point, axis),
            "rank": ranks[_level(point)],
            **{key: _rounded(point.metric(key)) for key in DRAWN},
        }
        for configuration in sweep.configurations
        for point in configuration.points
        if point.status == "valid"
    ]


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
    shape = " + ".join(f"{number} {role}" for role, number in roles if number)
    gpus = topology.total_gpus
    return " · ".join(
        part for part in (shape, "" if gpus is None else f"{gpus} GPU{'s' * (gpus != 1)}") if part
    )


def frontier_records(records: Sequence[Record]) -> list[Record]:
    """Return the frontier of each workload, over the means of the repeats, ordered along the frontier.

    Single repeats would favour whatever was repeated most: the best of many noisy values is too good.
    """
    groups: dict[tuple[Value, Value, Value], list[tuple[float, float]]] = defaultdict(list)
    for record in records:
        x, y = record[X], record[Y]
        if isinstance(x, float) and isinstance(y, float):
            groups[record["workload"], record["configuration"], record["rank"]].append((x, y))
    means = {key: (fmean(x for x, _ in xy), fmean(y for _, y in xy)) for key, xy in groups.items()}
    found: list[Record] = []
    for name in dict.fromkeys(key[0] for key in means):
        keys = [key for key in means if key[0] == name]
        for index in frontier([means[key] for key in keys]):
            _, configuration, rank = keys[index]
            x, y = means[keys[index]]
            found.append({"workload": name, "configuration": configuration, "rank": rank, X: x, Y: y})
    return found


def _load(point: Point, axis: Axis) -> float | None:
    if axis == "request rate":
        return _rate(point)
    return None if point.concurrency is None else float(point.concurrency)


def _level(point: Point) -> tuple[float, float]:
    """Concurrency and request rate; what is not limited is the highest load."""
    rate = _rate(point)
    return (
        math.inf if point.concurrency is None else float(point.concurrency),
        math.inf if rate is None else rate,
    )


def _rate(point: Point) -> float | None:
    """The finite request rate of a point, or None."""
    try:
        rate = float(point.request_rate or "inf")
    except ValueError:
        return None
    return rate if math.isfinite(rate) else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")
