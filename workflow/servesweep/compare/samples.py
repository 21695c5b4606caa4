"""What a comparison reads: the repeats of each load level, as rows of tables or of lockfiles give them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

VALID = "valid"
# `c4-k1` is the second repeat of `c4`.
REPEAT = re.compile(r"-k\d+$")
MEASURED = re.compile(
    r"_(?:ms|tok_s|per_s|per_user)$|_per_(?:\w+_)?gpu$|^(?:accuracy|score)(?:_|$)|^cost_\w+$", re.ASCII
)
# Of the client, not of what is measured; how far the numbers of requests or of repeats are from each other.
NOT_MEASURED = ("client_lag_p99_ms",)
SPREADS = ("std_", "half_width_95_")
LOWER_IS_BETTER = re.compile(r"_ms$|^cost_")
LOAD = ("isl", "osl", "concurrency", "request_rate")


@dataclass(frozen=True, order=True)
class Level:
    """One load level of one configuration."""

    configuration: str
    point: str


@dataclass
class Samples:
    """The repeats of a level: metric to the values of the valid ones, and why the others do not count."""

    load: dict[str, Any] = field(default_factory=dict)
    values: dict[str, list[float]] = field(default_factory=dict)
    valid: int = 0
    saturated: int = 0
    """Valid repeats whose client was too busy."""
    refused: list[str] = field(default_factory=list)

    @property
    def told_load(self) -> str:
        """The load for people, such as `concurrency 4 · ISL 64 · OSL 16`."""
        names = {"concurrency": "concurrency", "request_rate": "rate", "isl": "ISL", "osl": "OSL"}
        said = [f"{name} {self.load[key]}" for key, name in names.items() if key in self.load]
        return " · ".join(said)


def is_measured(name: str) -> bool:
    """Whether a column is a measured number that is better when it is larger, or smaller."""
    return MEASURED.search(name) is not None and name not in NOT_MEASURED and not name.startswith(SPREADS)


def lower_is_better(metric: str) -> bool:
    """Latencies and costs; all else is better when it is larger."""
    return LOWER_IS_BETTER.search(metric) is not None


def gathered(rows: Iterable[Mapping[str, Any]]) -> dict[Level, Samples]:
    """Rows of a table by level, repeats together; what is not valid gives its reason and no number."""
    found: dict[Level, Samples] = {}
    for row in rows:
        point = REPEAT.sub("", str(row.get("point") or ""))
        samples = found.setdefault(Level(str(row.get("configuration") or ""), point), Samples())
        samples.load |= {key: row[key] for key in LOAD if _is_load(key, row.get(key))}
        if row.get("status") != VALID:
            samples.refused.append(str(row.get("reason") or row.get("status") or "no status"))
            continue
        samples.valid += 1
        samples.saturated += row.get("client_saturated") is True
        for name, value in row.items():
            if is_measured(name) and _is_number(value):
                samples.values.setdefault(name, []).append(float(value))
    return found


def _is_load(key: str, value: Any) -> bool:
    """An unlimited rate says nothing."""
    if value is None or value == "":
        return False
    return not (key == "request_rate" and (value == "inf" or value == math.inf))


def _is_number(value: Any) -> bool:
    """Nothing that is measured is negative."""
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
    )
