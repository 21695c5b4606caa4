"""Telling how far a run is, from the files that the client writes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from servesweep.evidence.files import RunFiles
from servesweep.evidence.points import gate_is_open, is_complete, read_json
from servesweep.plan.plan import Plan

GATE_SECONDS = 0.5
POINT_SECONDS = 5.0


async def tell_progress(
    files: RunFiles, plan: Plan, opened: Callable[[], None], say: Callable[[str], None]
) -> None:
    """Notice that the gate is open, then say every few seconds how far the point is; never returns."""
    while not gate_is_open(files):
        await asyncio.sleep(GATE_SECONDS)
    opened()
    told: set[str] = set()
    while True:
        for point in plan.points:
            if point.id not in told and is_complete(files, point):
                told.add(point.id)
                say(f"{point.id} is valid")
            now = read_json(files.point(point.id) / "progress.json")
            if now:
                rate = now.get("output_tok_s")
                speed = f", {rate:.0f} output tok/s" if isinstance(rate, int | float) else ""
                say(f"{point.id} {now.get('phase')}: {now.get('done')}/{now.get('asked')} requests{speed}")
        await asyncio.sleep(POINT_SECONDS)
