"""The words that start a process, word by word."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from servesweep.runtime.allocation import Allocation, Host
from servesweep.runtime.launchers import launcher_of
from servesweep.runtime.processes import MARK, marked

ARGV = ("python3", "-m", "server", "--name", "two words")
ENV = {"CUDA_VISIBLE_DEVICES": "2,3", "TEXT": "a=b c"}


def allocation(launcher: str, job: str | None = None) -> Allocation:
    return Allocation.model_validate(
        {
            "launcher": launcher,
            "job_id": job,
            "hosts": (Host(name="n0", host="gpu17", address="10.0.0.17"),),
            "supervisor_host": "gpu17",
            "supervisor_pid": 1,
            "started_at": "2025-01-01T00:00:00+00:00",
        }
    )


def test_local_sets_variables_by_env() -> None:
    words = launcher_of(allocation("local")).words("agg_0", "n0", ARGV, ENV, {"mpi": "pmix"}, None)
    assert words == [
        "env", "CUDA_VISIBLE_DEVICES=2,3", "TEXT=a=b c", "python3", "-m", "server", "--name", "two words",
    ]  # fmt: skip


def test_slurm_starts_one_overlapping_step_on_the_host() -> None:
    options = {"mpi": "pmix", "oversubscribe": ""}
    words = launcher_of(allocation("slurm", "42")).words(
        "agg_0", "n0", ARGV, ENV, options, Path("/r/agg.out")
    )
    assert words == [
        "srun", "--jobid=42", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=gpu17", "--job-name=agg_0",
        "--export=ALL", "--output=/r/agg.out", "--open-mode=append", "--mpi=pmix", "--oversubscribe",
        "env", "CUDA_VISIBLE_DEVICES=2,3", "TEXT=a=b c", "python3", "-m", "server", "--name", "two words",
    ]  # fmt: skip


def test_without_a_log_the_step_s_output_is_inherited() -> None:
    words = launcher_of(allocation("slurm", "42")).words("b", "n0", ("true",), {}, {}, None)
    assert words == [
        "srun", "--jobid=42", "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=gpu17", "--job-name=b",
        "--export=ALL", "env", "true",
    ]  # fmt: skip


def test_the_local_sweep_ends_a_process_that_left_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, str(tmp_path))
    words = [sys.executable, "-c", "import time; time.sleep(60)"]
    daemon = subprocess.Popen(words, start_new_session=True)
    monkeypatch.setenv(MARK, str(tmp_path / "other"))
    stranger = subprocess.Popen(words)
    try:
        monkeypatch.setenv(MARK, str(tmp_path))
        assert set(marked(tmp_path)) >= {daemon.pid}
        monkeypatch.setitem(os.environ, MARK, str(tmp_path / "nobody"))
        asyncio.run(launcher_of(allocation("local")).sweep_up())
        assert daemon.poll() is None
        monkeypatch.setitem(os.environ, MARK, str(tmp_path / "other"))
        asyncio.run(launcher_of(allocation("local")).sweep_up())
        assert stranger.wait(10) == -9
        assert daemon.poll() is None
    finally:
        for process in (daemon, stranger):
            process.kill()
            process.wait()
