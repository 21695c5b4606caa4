"""A Snakemake that loads before it is known what it is to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from servesweep.runtime.preloading import Preloaded

SNAKEFILE = """
shell("echo token $TOKEN, profile ${{SNAKEMAKE_PROFILE-unset}}")
rule all:
    shell: "exit 3"
"""


def alive(snakemake: Preloaded) -> bool:
    return Path(f"/proc/{snakemake._process.pid}").exists()


def test_it_does_what_it_is_told_in_the_environment_of_that_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    words = ["--snakefile", str(tmp_path / "Snakefile"), "--directory", str(tmp_path), "--cores", "1"]
    (tmp_path / "log").write_text("before\n")
    with Preloaded() as snakemake:
        monkeypatch.setenv("TOKEN", "known later")
        monkeypatch.setenv("SNAKEMAKE_PROFILE", "of the sweep")
        snakemake.begin([*words, "--workflow-profile", "none"], tmp_path / "log")
        assert snakemake.wait() == 1
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines[:2] == ["before", "token known later, profile unset"]
    assert "Error in rule all:" in lines


def test_one_that_is_told_nothing_is_over_where_it_is_not_needed_any_more() -> None:
    with Preloaded() as snakemake:
        assert alive(snakemake)
    assert not alive(snakemake)


def test_one_that_could_not_be_loaded_is_over_when_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "snakemake").mkdir()
    (tmp_path / "snakemake/__init__.py").write_text('raise ImportError("an installation that is broken")\n')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with Preloaded() as snakemake:
        os.waitid(os.P_PID, snakemake._process.pid, os.WEXITED | os.WNOWAIT)
        snakemake.begin(["--version"], tmp_path / "log")
        assert snakemake.wait() == 1
    assert "ImportError: an installation that is broken" in capfd.readouterr().err


def test_a_log_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    with Preloaded() as snakemake, pytest.raises(FileNotFoundError, match="no-such/log"):
        snakemake.begin(["--version"], tmp_path / "no-such/log")
    assert not alive(snakemake)


def test_what_comes_before_the_first_process_loads_little() -> None:
    looked_for = "[name in sys.modules for name in ('pydantic', 'asyncio', 'aiohttp')]"
    for module, loaded in (("preloading", [False] * 3), ("run", [True, True, False])):
        words = f"import sys, servesweep.cli.running, servesweep.runtime.{module}; print({looked_for})"
        done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
        assert done.stdout == f"{loaded}\n"
