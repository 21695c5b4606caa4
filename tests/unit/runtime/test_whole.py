"""A command as the task of a step: it takes along what it has started, and its end is told as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from servesweep.runtime.launchers.whole import taking_all_along

STEP = {"SLURM_JOB_ID": "12", "SLURM_STEP_ID": "3", "SLURM_PROCID": "0"}
PATIENCE_S = 60


def start(shell: str) -> subprocess.Popen[str]:
    words = taking_all_along(["bash", "-c", shell], "agg_0")
    return subprocess.Popen(
        words, env={**os.environ, **STEP}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("code", [0, 7, 127, 255])
def test_an_exit_code_is_handed_on(code: int) -> None:
    assert start(f"exit {code}").wait(PATIENCE_S) == code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_a_signal_is_handed_on(number: signal.Signals) -> None:
    assert start(f"kill -{number.value} $$").wait(PATIENCE_S) == -number


def test_a_child_with_a_session_of_its_own_ends_with_its_parent() -> None:
    process = start("setsid sleep 600 >/dev/null & echo $! $$; exec sleep 600")
    child, parent = map(int, first_line(process).split())
    assert is_there(child)
    os.kill(parent, signal.SIGKILL)
    assert process.wait(PATIENCE_S) == -signal.SIGKILL
    assert not is_there(child)


def test_what_another_task_of_the_step_has_started_stays() -> None:
    other = start("echo $$; exec sleep 600")
    stays = int(first_line(other))
    assert start("exit 3").wait(PATIENCE_S) == 3
    assert is_there(stays)
    os.kill(stays, signal.SIGKILL)
    other.wait(PATIENCE_S)


def test_a_signal_to_the_whole_step_ends_the_command_in_its_own_way() -> None:
    process = start("trap 'echo asked; exit 9' TERM; echo up; sleep 600 & wait")
    assert first_line(process) == "up"
    # As scancel does: to every process at once.
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 9
    assert first_line(process) == "asked"


def test_a_signal_to_the_shell_alone_changes_nothing() -> None:
    process = start("echo $$; exec sleep 600")
    command = int(first_line(process))
    os.kill(process.pid, signal.SIGTERM)
    time.sleep(0.2)
    assert (process.poll(), is_there(command)) == (None, True)
    os.kill(command, signal.SIGTERM)
    assert process.wait(PATIENCE_S) == -signal.SIGTERM
