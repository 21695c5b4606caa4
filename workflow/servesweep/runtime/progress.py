"""Telling how far a run is, from the files that the client writes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from servesweep.evidence.files import RunFiles
from servesweep.evidence.points import gate_is_open, is_complete, read_json
from servesweep.plan.plan import Plan

GATE_SECONDS = 0.5
# Models load for minutes.
PATIENCE_SECONDS = 30.0
POINT_SECONDS = 5.0
MOST_NAMES = 4


async def tell_progress(
    files: RunFiles, plan: Plan, told: set[str], opened: Callable[[], None], say: Callable[[str], None]
) -> None:
    """Say whom the gate waits for until it is open, then how far the point is; never returns."""
    while not files.deployed.exists():
        await asyncio.sleep(GATE_SECONDS)
    waited = 0.0
    while not gate_is_open(files):
        await asyncio.sleep(GATE_SECONDS)
        waited += GATE_SECONDS
        if waited % PATIENCE_SECONDS == 0:
            say(f"the health gate is not open after {waited:.0f} s: {_waiting_for(files, plan)}")
    opened()
    while True:
        tell_valid(files, plan, told, say)
        for point in plan.points:
            now = read_json(files.point(point.id) / "progress.json")
            if now:
                rate = now.get("output_tok_s")
                speed = f", {rate:.0f} output tok/s" if isinstance(rate, int | float) else ""
                say(f"{point.id} {now.get('phase')}: {now.get('done')}/{now.get('asked')} requests{speed}")
        await asyncio.sleep(POINT_SECONDS)


def tell_valid(files: RunFiles, plan: Plan, told: set[str], say: Callable[[str], None]) -> None:
    """Say which points have become valid; `told` are those of which it is known, and grows."""
    for point in plan.points:
        if point.id not in told and is_complete(files, point):
            told.add(point.id)
            say(f"{point.id} is valid")


def _waiting_for(files: RunFiles, plan: Plan) -> str:
    workers = [step.name for step in plan.steps if step.kind == "worker" and step.probe]
    ready = set(read_json(files.logs / "workers.json").get("ready") or ())
    missing = [name for name in workers if name not in ready]
    if not missing:
        return "every worker is ready, and the public API does not serve the model yet"
    more = f" and {len(missing) - MOST_NAMES} more" if len(missing) > MOST_NAMES else ""
    named = ", ".join(missing[:MOST_NAMES]) + more
    return f"{len(workers) - len(missing)} of {len(workers)} workers are ready, missing {named}"
