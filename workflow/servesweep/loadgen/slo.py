"""Service level objectives of a point: limits that mark its numbers and hide none. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

from pydantic import BaseModel, ConfigDict, Field

LATENCIES = ("ttft", "tpot", "itl", "e2el")
FIGURES = ("mean", "median", "p50", "p90", "p95", "p99")
AT_MOST = {f"{latency}_{figure}_ms": f"{figure}_{latency}_ms" for latency in LATENCIES for figure in FIGURES}
"""Objectives that a metric must not exceed, and the metric of each."""
AT_LEAST = {
    key: key for key in ("output_tok_s_per_user", "output_throughput_tok_s", "request_throughput_per_s")
}
"""Objectives that a metric must reach; they have the metric's name."""
OBJECTIVES = {**AT_MOST, **AT_LEAST}


class SloMark(BaseModel):
    """Whether a point kept its objectives."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    met: bool = Field(description="Whether every objective was kept.")
    limits: dict[str, float] = Field(description="The objectives as asked.")
    observed: dict[str, float | None] = Field(description="The metric of each; null where it has no sample.")
    missed: list[str] = Field(description="One clause for each that was not kept.")


def mark(limits: Mapping[str, float], metrics: Mapping[str, float | None]) -> SloMark | None:
    """Compare the metrics with the objectives; None where there are none.

    An objective whose metric has no sample is missed: nothing shows that it was kept.
    """
    if not limits:
        return None
    observed = {name: metrics.get(OBJECTIVES[name]) for name in limits}
    missed = [clause for name, limit in limits.items() if (clause := _missed(name, limit, observed[name]))]
    return SloMark(met=not missed, limits=dict(limits), observed=observed, missed=missed)


def _missed(name: str, limit: float, value: float | None) -> str:
    if value is None:
        return f"{name} has no sample"
    if name in AT_MOST:
        return f"{name} is {value:.4g}, at most {limit:g} was asked" if value > limit else ""
    return f"{name} is {value:.4g}, at least {limit:g} was asked" if value < limit else ""


def unknown_objective(name: str) -> str:
    """Why a name is no objective; empty when it is one."""
    if name in OBJECTIVES:
        return ""
    if meant := _meant(name):
        return f"{name!r} is no objective; did you mean {meant}?"
    return (
        f"{name!r} is no objective: they are like ttft_p99_ms ({', '.join(LATENCIES)}; {', '.join(FIGURES)})"
        f" or {', '.join(AT_LEAST)}"
    )


def _meant(name: str) -> str | None:
    """The objective of the same words in another order, as metrics have it, or of nearly the same letters."""
    words = {*name.lower().split("_"), "ms"}
    same = next((known for known in AT_MOST if set(known.split("_")) == words), None)
    # Another percentile is another objective, however near it is.
    figure = re.findall(r"\d+", name)
    rest = [known for known in OBJECTIVES if re.findall(r"\d+", known) == figure]
    return same or next(iter(get_close_matches(name, rest, n=1, cutoff=0.8)), None)
