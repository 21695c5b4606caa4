"""Measures the client itself: how late its event loop wakes up and how much CPU it takes."""

from __future__ import annotations

import asyncio
from array import array
from dataclasses import dataclass, field
from time import perf_counter, process_time

INTERVAL_S = 0.01


@dataclass(slots=True)
class LagReport:
    """One process in one phase: lateness of each wake-up in ms, and CPU seconds per second of wall time."""

    lag_ms: array[float] = field(default_factory=lambda: array("d"))
    cpu_share: float = 0.0


async def sample_lag(report: LagReport) -> None:
    """Until cancelled, sleep 10 ms again and again and note in `report` how late the loop came back."""
    wall, cpu = perf_counter(), process_time()
    try:
        while True:
            due = perf_counter() + INTERVAL_S
            await asyncio.sleep(INTERVAL_S)
            report.lag_ms.append(max(0.0, (perf_counter() - due) * 1e3))
    finally:
        report.cpu_share = (process_time() - cpu) / max(perf_counter() - wall, 1e-9)
