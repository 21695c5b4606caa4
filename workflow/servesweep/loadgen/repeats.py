"""Confidence intervals over the repeats of a load level."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

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
    """What the repeats of one load level say together; written into each, of those that were valid then."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    points: list[str] = Field(description="The valid repeats that are counted, this one last.")
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
    deviation = float(sample.std(ddof=1))
    return Interval(
        mean=float(sample.mean()),
        half_width_95=t_975(len(values) - 1) * deviation / math.sqrt(len(values)),
    )


def over_repeats(
    others: Mapping[str, Mapping[str, float | None]], point: str, metrics: Mapping[str, float | None]
) -> Repeats | None:
    """Put this point's metrics together with those of its other repeats; None without any."""
    if not others:
        return None
    runs = [*others.values(), metrics]
    intervals = {}
    for name in metrics:
        values = [run.get(name) for run in runs]
        numbers = [value for value in values if value is not None]
        if len(numbers) == len(runs):
            intervals[name] = interval(numbers)
    return Repeats(points=[*others, point], metrics=intervals)


def read_others(output: Path, points: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """Metrics of those points whose valid results lie beside this one's directory, in the given order.

    A run removes the results of another configuration before it measures, so all of them are of this one.
    """
    found = {}
    for point in points:
        path = output.parent.parent / point / output.name
        try:
            result = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue
        if result.get("valid"):
            found[point] = result["metrics"]
    return found
