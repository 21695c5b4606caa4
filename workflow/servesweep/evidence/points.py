"""Which points of a configuration exist: decided by the content of their results alone."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from servesweep.evidence.files import RunFiles
from servesweep.plan.plan import Plan, PlannedPoint

POLL_SECONDS = 0.5


def is_complete(files: RunFiles, point: PlannedPoint) -> bool:
    """Whether the point has a valid result of this very deployment and load."""
    result = read_json(files.result(point.id))
    return result.get("valid") is True and result.get("digest") == point.digest


def open_points(files: RunFiles, plan: Plan) -> list[PlannedPoint]:
    """The points that are still to be measured, in order."""
    return [point for point in plan.points if not is_complete(files, point)]


def wait_for_points(files: RunFiles, plan: Plan, seconds: float) -> list[str]:
    """Wait until every result is seen, shared file systems show them late; returns the unseen points."""
    deadline = time.monotonic() + seconds
    while (unseen := open_points(files, plan)) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return [point.id for point in unseen]


def set_aside_stale(files: RunFiles, plan: Plan) -> list[str]:
    """Rename results that do not count, so that the point is measured again and the evidence stays."""
    renamed = []
    for point in open_points(files, plan):
        result = files.result(point.id)
        if result.exists():
            result.replace(result.with_name("result.stale.json"))
            renamed.append(point.id)
    return renamed


def gate_is_open(files: RunFiles) -> bool:
    """Whether the health gate of this allocation has opened."""
    return read_json(files.health).get("open") is True


def why_open(files: RunFiles, point: PlannedPoint) -> str:
    """One clause: why the point does not count."""
    reasons = read_json(files.invalid(point.id)).get("reasons") or []
    return "; ".join(map(str, reasons)) if reasons else "no result"


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object, or an empty one where the file is missing or broken."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
