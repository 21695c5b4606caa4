"""What the executor hears of its jobs: an end for each, and nothing else changed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from servesweep.runtime.executor_answers import answer_the_executor, carry_slurm_conf, restore_slurm_conf

SLURM = cast(Any, SimpleNamespace(launcher="slurm"))
LOCAL = cast(Any, SimpleNamespace(launcher="local"))
SQUEUE = ("squeue", "--format=%i|%T", "--states=all", "--noheader", "--name", "a-run")
SACCT = ("sacct", "-X", "--parsable2", "--noheader", "--format=JobIdRaw,State", "--name", "a-run")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that print their words, or what the file beside them says, first on the path."""
    programs = tmp_path / "slurm bin"
    programs.mkdir()
    for name in ("squeue", "sacct"):
        program = programs / name
        program.write_text(
            '#!/bin/sh\n[ -e "$0.says" ] && exec cat "$0.says"\n[ -e "$0.fails" ] && exit 1\n'
            "printf '%s\\n' \"$@\"\n"
        )
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return programs


def asked(*words: str) -> list[str]:
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_executor_s_question_is_for_whole_jobs(slurm: Path, tmp_path: Path) -> None:
    # Not stand-in rows: the words with which squeue was called, of which one looks like a row.
    answer_the_executor([SLURM], tmp_path / ".snakemake")
    assert "--format=%A|%T" in asked(*SQUEUE)


def test_other_questions_are_left_alone(slurm: Path, tmp_path: Path) -> None:
    answer_the_executor([SLURM], tmp_path / ".snakemake")
    # A Snakefile may be read several times in one process.
    answer_the_executor([SLURM], tmp_path / ".snakemake")
    assert asked("squeue", "--format=%i %j", "a b") == ["--format=%i %j", "a b"]
    assert asked("sacct", "--format=JobID", "a b") == ["--format=JobID", "a b"]


def test_a_preempted_job_has_ended(slurm: Path, tmp_path: Path) -> None:
    answer_the_executor([SLURM], tmp_path / ".snakemake")
    (slurm / "squeue.says").write_text("3|RUNNING\n4|PREEMPTED\n")
    assert asked(*SQUEUE) == ["3|RUNNING", "4|CANCELLED"]
    (slurm / "sacct.says").write_text("3|RUNNING\n4|PREEMPTED\n5|CANCELLED by 1000\n6|CANCELLED\n")
    assert asked(*SACCT) == ["3|RUNNING", "4|CANCELLED", "5|CANCELLED", "6|CANCELLED"]


def test_a_job_that_slurm_has_forgotten_is_over(slurm: Path, tmp_path: Path) -> None:
    answer_the_executor([SLURM], tmp_path / ".snakemake")
    (slurm / "squeue.says").write_text("3|RUNNING\n4|RUNNING\n")
    assert asked(*SQUEUE) == ["3|RUNNING", "4|RUNNING"]
    (slurm / "squeue.says").write_text("4|RUNNING\n")
    assert asked(*SQUEUE) == ["4|RUNNING", "3|COMPLETED"]
    (slurm / "squeue.says").write_text("")
    assert sorted(asked(*SQUEUE)) == ["3|COMPLETED", "4|COMPLETED"]
    # Another run of the workflow has other jobs.
    assert asked(*SQUEUE[:-1], "another-run") == []


def test_a_slurm_that_does_not_answer_ends_no_job(slurm: Path, tmp_path: Path) -> None:
    answer_the_executor([SLURM], tmp_path / ".snakemake")
    (slurm / "squeue.says").write_text("3|RUNNING\n")
    asked(*SQUEUE)
    (slurm / "squeue.says").unlink()
    (slurm / "squeue.fails").touch()
    done = subprocess.run(SQUEUE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")


def test_a_sweep_on_this_machine_asks_nobody(slurm: Path, tmp_path: Path) -> None:
    before = os.environ["PATH"]
    answer_the_executor([LOCAL], tmp_path / ".snakemake")
    assert os.environ["PATH"] == before
    assert not (tmp_path / ".snakemake").exists()


def test_the_place_of_slurm_s_configuration_reaches_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", "/opt/site/slurm.conf")
    monkeypatch.setenv("SERVESWEEP_SLURM_CONF", "")
    carry_slurm_conf()
    # As the executor's job step does.
    monkeypatch.delenv("SLURM_CONF")
    restore_slurm_conf()
    assert os.environ["SLURM_CONF"] == "/opt/site/slurm.conf"
