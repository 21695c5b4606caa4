"""Failures that happened before or outside of a run: read from the workflow engine's own log.

A refused submission leaves nothing in the configuration's directory, and a job that Slurm ended before its
supervisor began neither. Their reason stands in Snakemake's log alone.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

from servesweep.evidence.files import RunFiles, sentence, write_atomically

# Up to the next event: what sbatch says is quoted in the block without indentation.
BLOCK = re.compile(r"^Error in rule run:\n(.*?)(?=^\[\w{3} \w{3} |^Error in |\Z)", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"output:\s*(\S+)/run\.json")
SBATCH = re.compile(r"SLURM sbatch failed\. The error message was '(.*?)'\.?\s*$", re.MULTILINE | re.DOTALL)
STATUS = re.compile(r"SLURM-job '(\d+)' failed(?: due to a\s+node failure)?, SLURM status is: '(\w+)'")


def submission_failures(log_text: str) -> dict[str, str]:
    """Directory of a configuration to one sentence, for each failed `run` of a Snakemake log."""
    failures = {}
    for block in BLOCK.finditer(log_text):
        output = OUTPUT.search(block.group(1))
        if output:
            failures[output.group(1)] = _sentence(block.group(1))
    return failures


def record_submission_failures(log: Path) -> list[str]:
    """Write failure.json where the run left none since the log began; returns the directories."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return []
    began = _began(log)
    written = []
    for directory, message in submission_failures(text).items():
        files = RunFiles(Path(directory))
        if not files.root.is_dir() or files.run.exists() or _told_since(began, files):
            continue
        record = {
            "schema": 1,
            "configuration": files.root.name,
            "stage": "submission",
            "message": message,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        try:
            write_atomically(files.failure, json.dumps(record, indent=1) + "\n")
        except OSError as error:
            # One full disk does not keep the tables of all others from being written.
            print(sentence(error), file=sys.stderr)
            continue
        written.append(directory)
    return written


def _began(log: Path) -> float:
    """When the controller started: Snakemake names its log by the local time, else the file's last change."""
    try:
        return datetime.strptime(log.name.partition(".")[0], "%Y-%m-%dT%H%M%S").timestamp()
    except ValueError:
        return log.stat().st_mtime


def _told_since(began: float, files: RunFiles) -> bool:
    return files.failure.exists() and files.failure.stat().st_mtime >= began


def _sentence(block: str) -> str:
    refused = SBATCH.search(block)
    if refused:
        lines = [line.strip().removeprefix("sbatch: error: ") for line in refused.group(1).splitlines()]
        return "Slurm refused the submission: " + "; ".join(line for line in lines if line)
    status = STATUS.search(block)
    if status:
        return f"Slurm job {status.group(1)} ended as {status.group(2)}"
    return "the run ended without a record; see run.log"
