"""Logs are read once: what was written since the last look, whole lines and the begun one."""

from __future__ import annotations

from pathlib import Path

import pytest

from servesweep.runtime.fatal_lines import LONGEST_LINE, FatalLines


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "n0_agg_w0.out"
    path.write_bytes(b"")
    return path


def more(log: Path, data: bytes) -> None:
    with log.open("ab") as file:
        file.write(data)


def test_only_what_is_new_is_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = FatalLines(["fatal"])
    more(log, b"quiet\n" * 1000)
    assert lines.first(log) is None
    # Written over in place: who read it again would find it.
    with log.open("r+b") as file:
        file.write(b"fatal")
    assert lines.first(log) is None
    more(log, b"a fatal line \nand more\n")
    assert lines.first(log) == "a fatal line"


def test_a_line_that_comes_in_two_pieces_is_one(log: Path) -> None:
    lines = FatalLines([r"CUDA out of memory"])
    more(log, b"torch: CUDA out ")
    assert lines.first(log) is None
    more(log, b"of memory")
    assert lines.first(log) == "torch: CUDA out of memory"


def test_a_pattern_does_not_reach_over_the_end_of_a_line(log: Path) -> None:
    lines = FatalLines([r"out\s+of"])
    more(log, b"out\n")
    assert lines.first(log) is None
    more(log, b"of\rout of\n")
    assert lines.first(log) == "out of"


def test_a_progress_bar_without_an_end_is_not_kept_whole(log: Path) -> None:
    lines = FatalLines(["fatal"])
    more(log, b"." * (3 * LONGEST_LINE))
    assert lines.first(log) is None
    assert len(lines._read[log].begun) == LONGEST_LINE
    more(log, b"fatal")
    assert lines.first(log) is not None


def test_the_log_of_a_next_life_is_read_from_its_beginning(log: Path) -> None:
    lines = FatalLines(["fatal"])
    more(log, b"the first life says much\n")
    assert lines.first(log) is None
    log.rename(f"{log}.1")
    log.write_bytes(b"fatal\n")
    assert lines.first(log) == "fatal"


def test_a_log_that_was_cut_is_read_from_its_beginning(log: Path) -> None:
    lines = FatalLines(["fatal"])
    more(log, b"much was said here\n")
    assert lines.first(log) is None
    log.write_bytes(b"fatal\n")
    assert lines.first(log) == "fatal"


def test_each_log_has_its_own_place_and_one_that_is_missing_says_nothing(log: Path, tmp_path: Path) -> None:
    lines, other = FatalLines(["fatal"]), tmp_path / "other.out"
    assert lines.first(other) is None
    more(log, b"begun ")
    assert lines.first(log) is None
    other.write_bytes(b"fatal\n")
    assert lines.first(other) == "fatal"


def test_without_patterns_nothing_is_read(log: Path) -> None:
    more(log, b"fatal\n")
    assert FatalLines([]).first(log) is None


def test_a_long_line_is_told_by_its_beginning(log: Path) -> None:
    more(log, b"fatal: " + b"x" * 400 + b"\n")
    assert FatalLines(["fatal"]).first(log) == "fatal: " + "x" * 292 + "…"
