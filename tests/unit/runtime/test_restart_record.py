"""`logs/worker_restarts.json`, key by key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from servesweep.recipe.restart import RestartSection
from servesweep.runtime.restart_record import Event, RestartRecord

ALWAYS, FAILURE = RestartSection(policy="always", max_restarts=1), RestartSection(policy="on-failure")


def event(**changes: Any) -> Event:
    fields: dict[str, Any] = {
        "worker": "decode_0", "mode": "decode", "index": 0, "node": "gpu17", "attempt": 1, "exit_code": 137,
        "exited_at": "2026-01-01T10:00:00.000+00:00", "outcome": "scheduled", "backoff_seconds": 10.0,
    }  # fmt: skip
    return Event(**{**fields, **changes})


def test_nothing_has_happened_yet(tmp_path: Path) -> None:
    RestartRecord(tmp_path, {"decode_0": ALWAYS}, began_at="2026-01-01T09:00:00.000+00:00").write()
    assert json.loads((tmp_path / "worker_restarts.json").read_text()) == {
        "schema": 1,
        "began_at": "2026-01-01T09:00:00.000+00:00",
        "total_restarts": 0,
        "endpoints": {"decode_0": {"policy": "always", "restarts": 0, "max_restarts": 1, "exhausted": False}},
        "events": [],
    }


def test_what_was_started_counts_and_what_waits_does_not(tmp_path: Path) -> None:
    back = {"relaunched_at": "2026-01-01T10:00:10.000+00:00", "crash_log": "logs/gpu17_decode_w0.out.1"}
    record = RestartRecord(
        tmp_path,
        {"decode_0": ALWAYS, "decode_1": FAILURE},
        [
            event(outcome="ready", ready_at="2026-01-01T10:00:15.000+00:00", ready_seconds=5.0, **back),
            event(worker="decode_1", index=1),
            event(attempt=2, outcome="exhausted", backoff_seconds=None),
        ],
        {"decode_0"},
    )
    data = record.data()
    assert data["total_restarts"] == 1
    assert data["endpoints"] == {
        "decode_0": {"policy": "always", "restarts": 1, "max_restarts": 1, "exhausted": True},
        "decode_1": {"policy": "on-failure", "restarts": 0, "max_restarts": 3, "exhausted": False},
    }
    assert data["events"][0] == {
        "worker": "decode_0", "mode": "decode", "index": 0, "node": "gpu17", "attempt": 1, "exit_code": 137,
        "exited_at": "2026-01-01T10:00:00.000+00:00", "outcome": "ready", "backoff_seconds": 10.0,
        "relaunched_at": "2026-01-01T10:00:10.000+00:00", "ready_at": "2026-01-01T10:00:15.000+00:00",
        "ready_seconds": 5.0, "crash_log": "logs/gpu17_decode_w0.out.1", "engine": 0,
    }  # fmt: skip
    assert data["events"][2]["outcome"] == "exhausted"


def test_a_disk_that_refuses_it_harms_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    RestartRecord(tmp_path / "file", {}).write()
