"""The executor's question to squeue, corrected for sweeps with heterogeneous jobs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from servesweep.runtime.het_status import ask_for_whole_jobs

HET = cast(Any, SimpleNamespace(slurm=SimpleNamespace(slurm_extra="--exclusive : -N2 --exclusive")))
PLAIN = cast(Any, SimpleNamespace(slurm=SimpleNamespace(slurm_extra="--exclusive")))


@pytest.fixture
def squeue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `squeue` that prints its words, the first on the path."""
    program = tmp_path / "slurm bin" / "squeue"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


def asked(*words: str) -> list[str]:
    done = subprocess.run(["squeue", *words], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_executor_s_question_is_corrected_and_no_other(squeue: Path, tmp_path: Path) -> None:
    ask_for_whole_jobs([PLAIN, HET], tmp_path / ".snakemake")
    question = ["--states=all", "--noheader", "--name", "a b"]
    assert asked("--format=%i|%T", *question) == ["--format=%A|%T", *question]
    assert asked("--format=%i %j") == ["--format=%i %j"]
    # A Snakefile may be read several times in one process.
    ask_for_whole_jobs([HET], tmp_path / ".snakemake")
    assert asked("--format=%i|%T") == ["--format=%A|%T"]


def test_other_sweeps_are_left_alone(squeue: Path, tmp_path: Path) -> None:
    before = os.environ["PATH"]
    ask_for_whole_jobs([PLAIN], tmp_path / ".snakemake")
    assert os.environ["PATH"] == before
    assert not (tmp_path / ".snakemake").exists()
