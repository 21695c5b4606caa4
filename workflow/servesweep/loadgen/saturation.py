"""Whether the client itself was too busy for the times it measured. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from servesweep.loadgen.lag import LagReport

MOST_LAG_MS = 10.0
MOST_LAG_SHARE_OF_ITL = 0.2
UNAVOIDABLE_LAG_MS = 5.0
MOST_CPU_SHARE = 0.95


@dataclass(frozen=True, slots=True)
class Saturation:
    """Lateness of the event loops in ms over all processes, the busiest process's CPU share, the verdict."""

    lag_ms_mean: float
    lag_ms_p99: float
    lag_ms_max: float
    cpu_share_max: float
    sentence: str
    """Why the client counts as saturated; empty when it does not."""


def lag_limit_ms(median_itl_ms: float | None) -> float:
    """Largest bearable 99th percentile of the lag: 20% of the median ITL, but between 5 and 10 ms.

    An engine answers its whole batch at once, and taking in a hundred chunks lasts 3 ms on an idle machine:
    less than 5 ms says nothing. 10 ms distorts any TTFT.
    """
    if median_itl_ms is None:
        return MOST_LAG_MS
    return min(MOST_LAG_MS, max(UNAVOIDABLE_LAG_MS, MOST_LAG_SHARE_OF_ITL * median_itl_ms))


def assess(reports: Sequence[LagReport], median_itl_ms: float | None) -> Saturation:
    """Put the processes' own measurements together and judge them."""
    lags = np.concatenate([np.frombuffer(r.lag_ms) for r in reports if r.lag_ms] or [np.zeros(1)])
    cpu = max((r.cpu_share for r in reports), default=0.0)
    p99, limit = float(np.percentile(lags, 99)), lag_limit_ms(median_itl_ms)
    causes = []
    if p99 > limit:
        causes.append(f"its event loop was {p99:.1f} ms late at p99 (limit {limit:.1f} ms)")
    if cpu > MOST_CPU_SHARE:
        causes.append(f"a process used {cpu:.0%} of a CPU")
    sentence = ""
    if causes:
        sentence = (
            f"The client was saturated: {' and '.join(causes)}; latencies read too high, use more processes."
        )
    return Saturation(float(lags.mean()), p99, float(lags.max()), cpu, sentence)
