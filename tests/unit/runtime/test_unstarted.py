"""Failures of jobs that Snakemake alone knows of: a refused submission, an end before the supervisor's start.

The texts are those of Snakemake 9.27.1 with its slurm plugin 2.8.0 on a Slurm 22.05 cluster.
"""

from __future__ import annotations

import json
import logging
import os
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from servesweep.runtime.unstarted import UnstartedRuns, failure_sentence

REFUSED = """\
SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: nope
sbatch: error: Batch job submission failed: Invalid partition name specified'.
    sbatch call:
        sbatch --parsable --job-name d8fcd106 -p nope --wrap="python -m snakemake"
For further error details see the cluster/cloud log and the log files of the involved rule(s)."""
CANCELLED = (
    "SLURM-job '5' failed, SLURM status is: 'CANCELLED'. Detailed failure reason unavailable (status command "
    "is not 'sacct').For further error details see the cluster/cloud log"
)
NODE_FAIL = (
    "SLURM-job '5' failed due to a node failure, SLURM status is: 'NODE_FAIL'. Failed nodes will be excluded"
)
NO_SLURM = """\
Job submission failed with exception: The 'sacctmgr' reported: 'Unable to test the validity of the account
sacctmgr: fatal: Could not establish a configuration source
.'For further error details see the cluster/cloud log"""
TEXTS = {
    REFUSED: "Slurm refused the submission: invalid partition specified: nope; Batch job submission failed: "
    "Invalid partition name specified",
    CANCELLED: "Slurm job 5 ended as CANCELLED",
    NODE_FAIL: "Slurm job 5 ended as NODE_FAIL",
    NO_SLURM: "the job could not be submitted: The 'sacctmgr' reported: 'Unable to test the validity of the "
    "account; sacctmgr: fatal: Could not establish a configuration source; .'",
    "": "the run ended without a record; see run.log",
}


class Event(Enum):
    """Those of Snakemake's events that matter here, with its values."""

    JOB_ERROR = "job_error"
    JOB_FINISHED = "job_finished"


def logged(handler: UnstartedRuns, **of_the_record: Any) -> None:
    """Log as Snakemake does when a job has failed; by default one of the run `one`."""
    job = {
        "event": Event.JOB_ERROR,
        "rule_name": "run",
        "rule_msg": REFUSED,
        "output": ["results/one/run.json"],
    }
    log = logging.Logger("snakemake")
    log.addHandler(handler)
    log.error("Error in rule run, jobid: 1", extra=job | of_the_record)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results/one").mkdir(parents=True)


@pytest.mark.parametrize("told", TEXTS)
def test_what_the_executor_says_is_one_sentence(told: str) -> None:
    assert failure_sentence(told) == TEXTS[told]


def test_a_long_text_is_cut() -> None:
    assert failure_sentence(f"Job submission failed with exception: {'x' * 1000}").endswith("xxx…")


def test_a_refused_submission_is_the_failure_of_the_configuration() -> None:
    logged(UnstartedRuns())
    record = json.loads(Path("results/one/failure.json").read_text())
    assert record | {"at": ""} == {
        "schema": 1,
        "configuration": "one",
        "stage": "submission",
        "message": TEXTS[REFUSED],
        "at": "",
    }


@pytest.mark.parametrize(
    "other",
    [{"rule_name": "lockfile"}, {"event": Event.JOB_FINISHED}, {"event": None}, {"output": []},
     {"output": ["results/none/run.json"]}],
)  # fmt: skip
def test_other_events_are_no_failures_of_a_run(other: dict[str, Any]) -> None:
    logged(UnstartedRuns(), **other)
    logging.Logger("snakemake").error("not an event")
    assert list(Path("results").rglob("failure.json")) == []


def test_a_run_that_has_told_its_failure_itself_is_left_alone() -> None:
    handler, failure = UnstartedRuns(), Path("results/one/failure.json")
    failure.write_text('{"message": "decode_0 ended with code 1"}')
    logged(handler)
    assert "decode_0" in failure.read_text()
    # One of an earlier sweep tells nothing of this one.
    os.utime(failure, (0, 0))
    logged(handler)
    assert "decode_0" not in failure.read_text()


def test_a_finished_run_is_not_called_failed() -> None:
    Path("results/one/run.json").write_text("{}")
    logged(UnstartedRuns())
    assert not Path("results/one/failure.json").exists()


def test_a_disk_that_refuses_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    # A directory in its place refuses the file, as a full disk does.
    Path("results/one/failure.json/x").mkdir(parents=True)
    os.utime("results/one/failure.json", (0, 0))
    logged(UnstartedRuns())
    assert capsys.readouterr().err.count("failure.json: Is a directory") == 1
