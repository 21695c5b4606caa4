"""`logs/worker_restarts.json`: every relaunch of a worker, and which points were measured across one."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from servesweep.evidence.files import RunFiles, write_atomically
from servesweep.evidence.points import read_json
from servesweep.plan.plan import Plan

RESTARTS = "worker_restarts.json"
# A note that was added before is known by its beginning.
NOTE = "A worker was away:"


def read_restarts(logs: Path) -> dict[str, Any] | None:
    """The record of the attempt whose logs these are; None where no worker may be started again."""
    return read_json(logs / RESTARTS) or None


def away(event: dict[str, Any], now: datetime) -> tuple[datetime, datetime]:
    """From when to when the worker of a relaunch did not serve; until now while it is not back."""
    back = event.get("ready_at")
    return _time(event["exited_at"]), _time(back) if back else now


def restarts_during(
    result: dict[str, Any], restarts: dict[str, Any] | None, now: datetime | None = None
) -> list[dict[str, Any]]:
    """The events whose worker was away at any time while a point was measured.

    `result` is the point's record: `started_at`, and `duration_s`, which ends with the last token, so of a
    point without one everything since its beginning counts.
    """
    if restarts is None or not result.get("started_at"):
        return []
    now = now or datetime.now(UTC)
    began = _time(str(result["started_at"]))
    lasted = result.get("duration_s") or 0
    ended = began + timedelta(seconds=float(lasted)) if lasted else now
    spans = [(event, *away(event, now)) for event in restarts.get("events", [])]
    return [event for event, gone, back in spans if gone <= ended and back >= began]


def noted_restarts(result: dict[str, Any]) -> list[str]:
    """The sentences that a point's record has about restarts."""
    return [str(note) for note in result.get("notes") or [] if str(note).startswith(NOTE)]


def restart_notes(events: list[dict[str, Any]]) -> list[str]:
    """A sentence for each of them, for who reads the point's numbers."""
    return [_note(event) for event in events]


def note_restarts(files: RunFiles, plan: Plan) -> None:
    """Add the sentences to the points of this attempt that were measured across a restart.

    A point does not become invalid by one, its failed requests decide that, but it says so. What is there
    already is kept up to date. Points of earlier attempts stay as they are.

    Raises:
        OSError: where a record cannot be written.
    """
    restarts = read_restarts(files.logs)
    if restarts is None or not restarts.get("events"):
        return
    for point in plan.points:
        for path in (files.result(point.id), files.invalid(point.id)):
            record = read_json(path)
            began, measured = restarts.get("began_at"), record.get("started_at")
            if not began or not measured or _time(str(measured)) < _time(str(began)):
                continue
            notes, known = restart_notes(restarts_during(record, restarts)), noted_restarts(record)
            if notes != known:
                others = [note for note in record.get("notes") or [] if note not in known]
                write_atomically(path, json.dumps({**record, "notes": [*others, *notes]}, indent=2) + "\n")


def _note(event: dict[str, Any]) -> str:
    worker, node, code = (event.get(key) for key in ("worker", "node", "exit_code"))
    told = f"{NOTE} {worker} on {node} ended with code {code} at {event['exited_at']}"
    if event.get("ready_at"):
        return f"{told} and served again at {event['ready_at']}."
    if event.get("outcome") == "exhausted":
        return f"{told} and was not started again."
    return f"{told} and did not serve again."


def _time(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
