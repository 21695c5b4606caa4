"""Which points of a configuration exist: decided by the content of their results alone."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from servesweep.evidence.files import RunFiles
from servesweep.plan.row import Point, Row

P = TypeVar("P", bound=Point, covariant=True)


class Measured(Protocol[P]):
    """What is measured: a plan, or a row of the workflow's table."""

    @property
    def points(self) -> Sequence[P]:
        """Load levels, in order."""


POLL_SECONDS = 0.5


def is_complete(files: RunFiles, point: Point) -> bool:
    """Whether the point has a valid result of this very deployment and load."""
    result = read_json(files.result(point.id))
    return result.get("valid") is True and result.get("digest") == point.digest


def open_points(files: RunFiles, plan: Measured[P]) -> list[P]:
    """The points that are still to be measured, in order."""
    return [point for point in plan.points if not is_complete(files, point)]


def is_finished(files: RunFiles, plan: Row) -> bool:
    """Whether the configuration, as it is now, has the record of a finished run, and all that it tells of."""
    return read_json(files.run).get("digest") == plan.digest and not open_points(files, plan)


def wait_for_points(files: RunFiles, plan: Measured[Point], seconds: float) -> list[str]:
    """Wait until every result is seen, shared file systems show them late; returns the unseen points."""
    deadline = time.monotonic() + seconds
    while (unseen := open_points(files, plan)) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return [point.id for point in unseen]


def set_aside_stale(files: RunFiles, plan: Measured[Point]) -> list[str]:
    """Rename results that do not count, so that the point is measured again and the evidence stays.

    The log of a result's requests goes with it, or it would lie beside the next one's record.
    """
    renamed = []
    for point in open_points(files, plan):
        result = files.result(point.id)
        _set_log_aside(files.point(point.id), belongs=result.exists())
        if result.exists():
            result.replace(result.with_name("result.stale.json"))
            renamed.append(point.id)
    return renamed


def _set_log_aside(directory: Path, *, belongs: bool) -> None:
    """Rename the log of the requests; one without a result never takes the place of another result's."""
    log, aside = directory / "requests.parquet", directory / "requests.stale.parquet"
    if log.exists() and (belongs or not aside.exists()):
        log.replace(aside)
    else:
        log.unlink(missing_ok=True)


def gate_is_open(files: RunFiles) -> bool:
    """Whether the health gate of this allocation has opened."""
    return read_json(files.health).get("open") is True


def why_open(files: RunFiles, point: Point) -> str:
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
