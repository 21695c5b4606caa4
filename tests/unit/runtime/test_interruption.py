"""What is told when the controlling Snakemake gets a signal."""

from __future__ import annotations

import logging

import pytest

from servesweep.runtime.interruption import Interruption

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
