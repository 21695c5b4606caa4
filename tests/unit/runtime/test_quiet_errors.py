"""What is told under `-q all`: why the whole workflow ends, and nothing that the table tells."""

from __future__ import annotations

import logging
from enum import Enum

import pytest

from servesweep.runtime.quiet_errors import QuietErrors


class Event(Enum):
    """Those of Snakemake's events that matter here, with its values."""

    ERROR = "error"
    JOB_ERROR = "job_error"


@pytest.mark.parametrize(
    ("message", "event", "printed"),
    [
        ("LockException:\nError: Directory cannot be locked.\n/here", Event.ERROR,
         "Error: Directory cannot be locked.\n/here\n"),
        ("nothing makes x", Event.ERROR, "nothing makes x\n"),
        ("WorkflowError:\nAt least one job did not complete successfully.", Event.ERROR, ""),
        ('RuleException:\nCalledProcessError in file "/w/a.smk", line 28:\nCommand \'set -e; servesweep'
         " run results/a --launcher local' returned non-zero exit status 1.", Event.ERROR, ""),
        ("Error in rule run, jobid: 1", Event.JOB_ERROR, ""),
        ("Exiting because a job execution failed.", None, ""),
    ],
)  # fmt: skip
def test_why_the_workflow_ends_is_told(
    message: str, event: Event | None, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logging.Logger("snakemake")
    log.addHandler(QuietErrors())
    log.error(message, extra={"event": event} if event else None)
    assert capsys.readouterr().err == printed
