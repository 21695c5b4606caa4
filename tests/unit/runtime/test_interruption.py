"""What is told when the controlling Snakemake gets a signal."""

from __future__ import annotations

import logging
import signal

import pytest

from servesweep.runtime.interruption import Interruption, hang_up_as_interrupt

WAITS = "no further run begins, and one that got no signal itself comes to its end first"
INT = "Terminating processes on user request, this might take some time."
TERM = "Will exit after finishing currently running jobs (scheduler)."


@pytest.mark.parametrize(
    ("message", "launcher", "printed"),
    [
        (INT, "local", f"Interrupted: {WAITS}; the same command goes on later.\n"),
        (
            INT,
            "slurm",
            "Interrupted: the jobs of this sweep are cancelled; the same command goes on later.\n",
        ),
        (TERM, "slurm", f"Asked to end: {WAITS}; the same command goes on later.\n"),
        ("Select jobs to execute...", "local", ""),
    ],
)
def test_a_signal_to_snakemake_is_told_in_one_sentence(
    message: str, launcher: str, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logging.Logger("snakemake", logging.INFO)
    log.addHandler(Interruption(launcher))
    log.info(message)
    log.info(message)
    assert capsys.readouterr().err == printed


@pytest.mark.parametrize(
    ("before", "after"),
    [(signal.SIG_DFL, signal.default_int_handler), (signal.SIG_IGN, signal.SIG_IGN)],
    ids=["a-terminal", "nohup"],
)
def test_a_closed_terminal_is_ctrl_c(before: object, after: object) -> None:
    found = signal.signal(signal.SIGHUP, before)
    try:
        hang_up_as_interrupt()
        assert signal.getsignal(signal.SIGHUP) is after
    finally:
        signal.signal(signal.SIGHUP, found)
