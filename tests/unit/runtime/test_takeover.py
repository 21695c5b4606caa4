"""Which processes count as an earlier run, and that they are ended."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from servesweep.evidence.files import RunFiles
from servesweep.runtime.allocation import find_allocation
from servesweep.runtime.processes import MARK, start_time, supervisors
from servesweep.runtime.takeover import SupersededError, purposes, take_over

SLEEP = "import sys, time; print(flush=True); time.sleep(60)"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / "results" / name).mkdir(parents=True)
    return tmp_path / "results"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def supervise(started: list[subprocess.Popen[str]], results: Path, *words: str) -> subprocess.Popen[str]:
    """A process that looks like `servesweep run` to the kernel."""
    argv = [sys.executable, "-c", SLEEP, "servesweep", *words]
    process = subprocess.Popen(argv, cwd=results.parent, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    started.append(process)
    return process


def test_a_comment_of_several_lines_hides_no_job() -> None:
    listed = (
        "17|/sweeps/a|rule_run_wildcards_x llama-agg the paper's run\n"
        "18|/home/me|measured for\n"
        "the group|twice\n"
        "19|/sweeps/a|rule_run_wildcards_x\n"
        "20|/sweeps/a|\n"
    )
    assert purposes(listed) == {
        "17": ("/sweeps/a", "rule_run_wildcards_x"),
        "18": ("/home/me", "measured"),
        "19": ("/sweeps/a", "rule_run_wildcards_x"),
        "20": ("/sweeps/a", ""),
    }


def test_a_local_run_is_known_by_its_directory(started: list[subprocess.Popen[str]], results: Path) -> None:
    run = supervise(started, results, "run", "results/a", "--launcher", "local")
    supervise(started, results, "benchmark", "results/a")
    supervise(started, results, "run", "results/b", "--launcher", "slurm")
    assert [(s.pid, s.directory) for s in supervisors(results)] == [(run.pid, results / "a")]
    assert supervisors(results.parent / "elsewhere") == []


def test_an_earlier_run_is_ended_with_all_that_it_left(
    started: list[subprocess.Popen[str]], results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = supervise(started, results, "run", "results/b", "--launcher", "local")
    monkeypatch.setenv(MARK, str(results / "a"))
    engine = supervise(started, results, "engine")
    monkeypatch.setattr("servesweep.runtime.takeover.start_time", _younger_than_all)
    said: list[str] = []
    # The run is our child: somebody has to wait for it, else it stays as a zombie, which counts as dead.
    asyncio.run(take_over(RunFiles(results / "a"), find_allocation("local", ["n0"]), said.append))
    assert (run.wait(10), engine.wait(10)) == (-15, -9)
    assert said == [
        f"process {run.pid} of an earlier controller still runs b: ending it",
        "ended 1 process that an earlier run had left behind",
    ]


def _younger_than_all(pid: int) -> int | None:
    return sys.maxsize if pid == os.getpid() else start_time(pid)


def test_a_run_that_was_started_later_wins(started: list[subprocess.Popen[str]], results: Path) -> None:
    run = supervise(started, results, "run", "results/b", "--launcher", "local")
    with pytest.raises(SupersededError, match=f"process {run.pid}, started later, already runs b"):
        asyncio.run(take_over(RunFiles(results / "a"), find_allocation("local", ["n0"]), print))
    assert run.poll() is None


def test_the_dead_have_no_start() -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert start_time(process.pid) is None  # a zombie
    process.wait()
    assert start_time(process.pid) is None
    assert start_time(os.getpid()) is not None


def test_whoever_started_a_run_is_no_earlier_run(tmp_path: Path) -> None:
    # `timeout` has the whole command line of the run in its own.
    directory = tmp_path / "results" / "quick"
    directory.mkdir(parents=True)
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from servesweep.runtime.processes import supervisors\n"
        "print(supervisors(Path(sys.argv[4]).parent))"
    )
    (tmp_path / "servesweep").write_text(script)
    words = ["timeout", "30", sys.executable, "servesweep", "run", "--launcher", "local", str(directory)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
