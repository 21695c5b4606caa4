"""How far two means of repeats may differ by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

# Two-sided 95 % quantiles of Student's t for 1 … 30 degrees of freedom (Student 1908; any table of t).
T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


@dataclass(frozen=True)
class Mean:
    """Mean of some repeats, and the half-width of its own 95 % interval; None with one repeat."""

    value: float
    half_width: float | None
    repeats: int


def mean_of(values: Sequence[float]) -> Mean:
    """Mean and interval of at least one value."""
    count = len(values)
    half = t95(count - 1) * math.sqrt(variance(values) / count) if count > 1 else None
    return Mean(fmean(values), half, count)


def noise_of(before: Sequence[float], after: Sequence[float]) -> float | None:
    """Half-width of the 95 % interval of the difference of two means; None where nothing was repeated.

    With repeats on both sides by Welch (Biometrika 34, 1947, 28-35), degrees of freedom rounded down. Where
    one side alone was repeated, the other is taken to scatter as it does.
    """
    sides = [values for values in (before, after) if len(values) > 1]
    if not sides:
        return None
    if len(sides) == 1:
        spread = variance(sides[0]) * (1 / len(before) + 1 / len(after))
        return t95(len(sides[0]) - 1) * math.sqrt(spread)
    parts = [variance(values) / len(values) for values in sides]
    if not sum(parts):
        return 0.0
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(values) - 1) for part, values in zip(parts, sides, strict=True)
    )
    return t95(int(freedom)) * math.sqrt(sum(parts))


def t95(freedom: int) -> float:
    """The quantile; beyond the table that of 30, which is a little too wide."""
    return T95[min(max(freedom, 1), len(T95)) - 1]
