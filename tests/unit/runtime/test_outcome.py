"""What a run leaves behind when it begins, and in words."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from servesweep.evidence.files import RunFiles, sentence
from servesweep.runtime.nested import nested_words
from servesweep.runtime.outcome import clear_earlier_attempt, verdict

POINT = SimpleNamespace(id="c1", digest="d")
PLAN = cast(Any, SimpleNamespace(points=[POINT]))


def test_earlier_logs_get_the_next_number(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    for name in ("logs.2", "logs.old", "logs"):
        (tmp_path / name).mkdir()
    (files.logs / "a.out").write_text("x")
    clear_earlier_attempt(files, PLAN)
    assert (tmp_path / "logs.3/a.out").read_text() == "x"
    assert list(files.logs.iterdir()) == []


def test_the_story_of_an_attempt_stays_with_its_logs(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    story = tmp_path / "run.log"
    for attempt in ("first", "second"):
        with story.open("a", buffering=1) as log:
            log.write(f"{attempt} begins\n")
            clear_earlier_attempt(files, PLAN)
            log.write(f"{attempt} ends\n")
        story.unlink()  # as Snakemake does before it starts a job
    assert (tmp_path / "logs.1/run.log").read_text() == "first begins\nfirst ends\n"
    assert (files.logs / "run.log").read_text() == "second begins\nsecond ends\n"


def test_earlier_verdicts_are_forgotten_and_finished_points_stay(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    files.point("c1").mkdir(parents=True)
    files.result("c1").write_text('{"valid": true, "digest": "d"}')
    verdicts = (files.failure, files.health, files.unhealthy, files.run, files.clients)
    for stale in verdicts:
        stale.write_text("{}")
    clear_earlier_attempt(files, PLAN)
    assert not any(stale.exists() for stale in verdicts)
    assert files.result("c1").exists()


def test_the_reasons_of_an_earlier_attempt_are_not_those_of_this_one(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    files.point("c1").mkdir(parents=True)
    files.invalid("c1").write_text('{"reasons": ["old"]}')
    clear_earlier_attempt(files, PLAN)
    files.health.write_text('{"open": true}')
    failure = verdict(files, PLAN)
    assert failure is not None
    assert failure.message == "1 of 1 points not valid: c1 (no result)"
    assert (files.point("c1") / "invalid.stale.json").exists()


def test_a_gate_without_a_verdict_shows_the_log_of_the_workflow(tmp_path: Path) -> None:
    files = RunFiles(tmp_path)
    files.logs.mkdir()
    (files.logs / "allocation.log").write_text("WorkflowError: no\n")
    failure = verdict(files, PLAN)
    assert failure is not None
    assert (failure.stage, failure.log, failure.tail) == (
        "health_gate",
        "logs/allocation.log",
        ("WorkflowError: no",),
    )


def test_the_nested_workflow_is_asked_for_the_open_points_alone(tmp_path: Path) -> None:
    words = nested_words(RunFiles(tmp_path), ["c4", "c16"])
    assert words[words.index("--") + 1 :] == [
        "health.json",
        "points/c4/result.json",
        "points/c16/result.json",
    ]
    assert words[words.index("--executor") :][:4] == ["--executor", "local", "--cores", "1"]
    assert words[words.index("--workflow-profile") + 1] == "none"


def test_a_refusal_of_the_system_is_one_sentence() -> None:
    assert sentence(PermissionError(errno.EACCES, "Permission denied", "/r/plan.json")) == (
        "/r/plan.json: Permission denied"
    )
    assert sentence(IsADirectoryError(errno.EISDIR, "Is a directory", "/r/.x.1", None, "/r/x")) == (
        "/r/x: Is a directory"
    )
    full = sentence(OSError(errno.ENOSPC, "No space left on device"))
    assert full.startswith("No space left on device (")
