"""Runs that failed before or outside of themselves: what Snakemake tells of their jobs becomes failure.json.

A refused submission leaves nothing in the configuration's directory, and a job that Slurm ended before its
supervisor began neither. Snakemake tells the reason as an event of its logger, which `-q` keeps from the
terminal and from its log file, and not from here.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from servesweep.evidence.files import RunFiles, sentence, write_atomically

RULE = "run"
EVENT = "job_error"
# snakemake-executor-plugin-slurm 2.8.0, of Snakemake 9.27 the last.
SBATCH = re.compile(r"SLURM sbatch failed\. The error message was '(.*?)'\.?\s*$", re.MULTILINE | re.DOTALL)
STATUS = re.compile(r"SLURM-job '(\d+)' failed(?: due to a\s+node failure)?, SLURM status is: '(\w+)'")
BEFORE = re.compile(
    r"Job submission failed with exception: (.*?)(?:For further error details see|\Z)", re.DOTALL
)
LONGEST = 400


class UnstartedRuns(logging.Handler):
    """For Snakemake's logger: writes failure.json for each failed run that has left none itself."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.began = time.time()

    def emit(self, record: logging.LogRecord) -> None:
        """Take note of the event that a job of the rule has failed."""
        told: Mapping[str, Any] = vars(record)
        event = getattr(told.get("event"), "value", None)
        if (event, told.get("rule_name")) != (EVENT, RULE) or not told.get("output"):
            return
        directory = Path(str(told["output"][0])).parent
        try:
            note_failure(RunFiles(directory), str(told.get("rule_msg") or ""), self.began)
        except OSError as error:
            # A full disk of one does not keep the others from being told.
            print(sentence(error), file=sys.stderr)


def note_failure(files: RunFiles, told: str, began: float) -> None:
    """Write failure.json where the run has left none since then.

    Raises:
        OSError: where the disk refuses.
    """
    if not files.root.is_dir() or files.run.exists() or _told_since(began, files):
        return
    record = {
        "schema": 1,
        "configuration": files.root.name,
        "stage": "submission",
        "message": failure_sentence(told),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_atomically(files.failure, json.dumps(record, indent=1) + "\n")


def _told_since(began: float, files: RunFiles) -> bool:
    return files.failure.exists() and files.failure.stat().st_mtime >= began


def failure_sentence(told: str) -> str:
    """What the executor said of a failed job, as one sentence."""
    if refused := SBATCH.search(told):
        return f"Slurm refused the submission: {_one_line(refused[1])}"
    if status := STATUS.search(told):
        return f"Slurm job {status[1]} ended as {status[2]}"
    if before := BEFORE.search(told):
        return f"the job could not be submitted: {_one_line(before[1])}"
    return "the run ended without a record; see run.log"


def _one_line(text: str) -> str:
    lines = [line.strip().removeprefix("sbatch: error: ") for line in text.splitlines()]
    line = "; ".join(line for line in lines if line and line != ".")
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
