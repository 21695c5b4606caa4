"""Confidence intervals over the repeats of a load level, of the points that are there now."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from servesweep.report.columns import TAKEN
from servesweep.report.sweep import Configuration, Point

REPEATS_NAME = "repeats.json"
SCHEMA = 1
# Student's t at 0.975 for 1 … 30 degrees of freedom.
T_975 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
Z_975 = 1.959964


class Interval(BaseModel):
    """The mean of one metric over repeats, and its uncertainty."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mean: float = Field(description="Mean over the repeats.")
    half_width_95: float = Field(
        description="Half width of the 95% confidence interval of that mean (Student's t): mean ± this."
    )


class Repeats(BaseModel):
    """What the valid repeats of one load level say together."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    points: list[str] = Field(description="The valid repeats that are counted.")
    metrics: dict[str, Interval] = Field(description="Interval of each metric that all of them have.")


def t_975(freedom: int) -> float:
    """Quantile 0.975 of Student's t distribution for a whole number of degrees of freedom, from 1.

    Beyond the table by the expansion in 1/freedom (Abramowitz and Stegun, 26.7.5), right to four digits.
    """
    if freedom <= len(T_975):
        return T_975[freedom - 1]
    z, n = Z_975, float(freedom)
    first = (z**3 + z) / (4 * n)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
    return z + first + second


def interval(values: Sequence[float]) -> Interval:
    """Mean and 95% interval of at least two independent values."""
    sample = np.asarray(values, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(sample.mean()), float(sample.std(ddof=1))
    return Interval(mean=mean, half_width_95=t_975(len(values) - 1) * deviation / math.sqrt(len(values)))


def repeats_of(configuration: Configuration) -> dict[str, Repeats]:
    """Each load level that has two valid points or more, by the name of its first."""
    levels: dict[str, list[Point]] = defaultdict(list)
    for point in configuration.points:
        if point.status == "valid":
            levels[_level(point)].append(point)
    return {level: _together(points) for level, points in levels.items() if len(points) > 1}


def repeats_json(levels: dict[str, Repeats]) -> str:
    """Text of `repeats.json`."""
    told = {level: repeats.model_dump() for level, repeats in levels.items()}
    return json.dumps({"schema": SCHEMA, "levels": told}, indent=1) + "\n"


def _level(point: Point) -> str:
    repeat = point.plan.repeat if point.plan else None
    return point.id.removesuffix(f"-k{repeat}") if repeat else point.id


def _together(points: Sequence[Point]) -> Repeats:
    measured = [point.result.metrics for point in points if point.result]
    shared = [name for name in measured[0] if name not in TAKEN and all(name in one for one in measured)]
    found = {name: interval([metrics[name] for metrics in measured]) for name in shared}
    # Numbers near the largest that there are have no finite spread.
    finite = {name: one for name, one in found.items() if math.isfinite(one.mean + one.half_width_95)}
    return Repeats(points=[point.id for point in points], metrics=finite)
