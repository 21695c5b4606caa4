"""Which points were measured across a restart, and how that is told."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from servesweep.evidence.files import RunFiles
from servesweep.evidence.restarts import note_restarts, restart_notes, restarts_during

NOW = datetime(2026, 1, 1, 11, tzinfo=UTC)
PLAN = cast(Any, SimpleNamespace(points=[SimpleNamespace(id="c1"), SimpleNamespace(id="c2")]))


def at(minute: int) -> str:
    return f"2026-01-01T10:{minute:02}:00.000+00:00"


def event(gone: int, back: int | None = None, **changes: Any) -> dict[str, Any]:
    ready = {"ready_at": at(back)} if back is not None else {}
    worker = {"worker": "decode_0", "node": "gpu17", "exit_code": 137}
    return {**worker, "exited_at": at(gone), "outcome": "ready", **ready, **changes}


POINT = {"started_at": at(10), "duration_s": 600.0}


@pytest.mark.parametrize(
    ("gone", "back", "across"),
    [
        (1, 9, False),
        (1, 11, True),
        (12, 14, True),
        (19, 25, True),
        (21, 25, False),
        (1, None, True),
        (21, None, False),
    ],
)
def test_a_worker_that_was_away_at_any_time_of_the_point(gone: int, back: int | None, across: bool) -> None:
    found = event(gone, back)
    assert restarts_during(POINT, {"events": [found]}, NOW) == ([found] if across else [])


def test_a_point_without_an_answer_lasts_until_now() -> None:
    found = event(40, 41)
    assert restarts_during({"started_at": at(10), "duration_s": 0.0}, {"events": [found]}, NOW) == [found]


def test_nothing_is_known_of_a_run_without_restarts_or_a_record_without_a_time() -> None:
    assert restarts_during(POINT, None, NOW) == []
    assert restarts_during({}, {"events": [event(12)]}, NOW) == []


def test_what_a_reader_of_the_point_is_told() -> None:
    told = "A worker was away: decode_0 on gpu17 ended with code 137 at 2026-01-01T10:12:00.000+00:00 and "
    assert restart_notes([event(12, 14), event(12, outcome="exhausted"), event(12, outcome="not_ready")]) == [
        told + "served again at 2026-01-01T10:14:00.000+00:00.",
        told + "was not started again.",
        told + "did not serve again.",
    ]


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    files = RunFiles(tmp_path)
    for point in ("c1", "c2"):
        files.point(point).mkdir(parents=True)
    files.logs.mkdir()
    return files


def records(files: RunFiles, *events: dict[str, Any]) -> None:
    (files.logs / "worker_restarts.json").write_text(json.dumps({"began_at": at(5), "events": events}))


def test_the_note_is_written_once_and_kept_up_to_date(files: RunFiles) -> None:
    files.result("c1").write_text(json.dumps({**POINT, "valid": True, "notes": ["counted in words"]}))
    files.invalid("c2").write_text(json.dumps({**POINT, "started_at": at(30), "valid": False, "notes": []}))
    records(files, event(12, outcome="relaunched"))
    note_restarts(files, PLAN)
    records(files, event(12, 14))
    note_restarts(files, PLAN)
    once = files.result("c1").stat().st_mtime_ns
    note_restarts(files, PLAN)
    assert files.result("c1").stat().st_mtime_ns == once
    assert json.loads(files.result("c1").read_text()) == {
        **POINT, "valid": True, "notes": ["counted in words", *restart_notes([event(12, 14)])],
    }  # fmt: skip
    # It began after the worker had come back, which was not known at first.
    assert json.loads(files.invalid("c2").read_text())["notes"] == []


def test_a_point_of_an_earlier_attempt_keeps_its_note(files: RunFiles) -> None:
    (note,) = restart_notes([event(12, 14)])
    files.result("c1").write_text(json.dumps({**POINT, "started_at": at(1), "notes": [note]}))
    before = files.result("c1").read_bytes()
    records(files, event(20, 21))
    note_restarts(files, PLAN)
    assert files.result("c1").read_bytes() == before


def test_a_point_that_does_not_count_says_so_too(files: RunFiles) -> None:
    files.invalid("c2").write_text(json.dumps({**POINT, "valid": False, "notes": []}))
    records(files, event(12, 14))
    note_restarts(files, PLAN)
    assert json.loads(files.invalid("c2").read_text())["notes"] == restart_notes([event(12, 14)])


def test_a_run_without_restarts_touches_nothing(files: RunFiles) -> None:
    files.result("c1").write_text(json.dumps({**POINT, "notes": []}))
    before = files.result("c1").stat().st_mtime_ns
    note_restarts(files, PLAN)
    records(files)
    note_restarts(files, PLAN)
    assert files.result("c1").stat().st_mtime_ns == before
