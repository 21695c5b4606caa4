"""Five configurations, two of which cannot work: what finishes, what is told, and what the next run does."""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.faults import told

GOOD = ("first", "second", "third")
REFUSED, SHUT = "no-such-partition", "never-healthy"


@dataclass
class Runs:
    """One sweep run, then asked what it would do again, then run after both recipes are repaired."""

    sweep: Any
    done: list[subprocess.CompletedProcess[str]] = field(default_factory=list)
    results: list[dict[str, tuple[bytes, int]]] = field(default_factory=list)
    summary: list[dict[str, str]] = field(default_factory=list)
    page: str = ""

    def submissions(self, run: int) -> list[str]:
        """Configurations for which a run called sbatch, with success or without."""
        started = re.findall(r"^rule run:\n(?:    .*\n)*?    log: results/([^/]+)/", self.output(run), re.M)
        return sorted(started)

    def output(self, run: int) -> str:
        return self.done[run].stdout

    def run(self, *words: str) -> None:
        self.done.append(self.sweep.run(*words))
        self.results.append(self.sweep.results())


@pytest.fixture(scope="module")
def runs(new_sweep: Any) -> Runs:
    runs = Runs(new_sweep("partly"))
    for name in GOOD:
        runs.sweep.recipe(name)
    runs.sweep.recipe(REFUSED, partition="nowhere")
    runs.sweep.recipe(SHUT, patience=3, args={"fault": "never-healthy"})
    runs.run()
    results = runs.sweep.project.root / "results"
    with (results / "summary.csv").open() as table:
        runs.summary = list(csv.DictReader(table))
    runs.page = (results / "report.html").read_text()
    runs.run("--dry-run")
    runs.sweep.recipe(REFUSED)
    runs.sweep.recipe(SHUT)
    runs.run()
    return runs


def test_a_changed_configuration_whose_job_is_refused_is_submitted_again(new_sweep: Any) -> None:
    """Snakemake has a record of what it was before, and takes it for that of the refused job."""
    sweep = new_sweep("changed")
    sweep.recipe("one")
    assert sweep.run("-q", "all").returncode == 0
    sweep.recipe("one", partition="nowhere", osl=24)
    for _ in range(2):
        done = sweep.run("-q", "all")
        assert done.returncode != 0, done.stdout
        assert "Slurm refused the submission: invalid partition specified: nowhere" in one_line(done.stdout)
    sweep.recipe("one", osl=24)
    done = sweep.run("-q", "all")
    assert (done.returncode, "points: 1 valid" in done.stdout) == (0, True), done.stdout


def one_line(text: str) -> str:
    """What the terminal breaks into several lines."""
    return " ".join(text.split())


def test_the_others_finish_and_the_exit_code_tells(runs: Runs) -> None:
    assert runs.done[0].returncode != 0
    finished = {name.split("/")[0] for name in runs.results[0] if name.endswith("run.json")}
    assert finished == set(GOOD)


def test_a_refused_submission_is_told_in_slurms_words(runs: Runs, fault_row: Callable[..., None]) -> None:
    rows = [row for row in runs.summary if row["configuration"] == REFUSED]
    assert {row["status"] for row in rows} == {"missing"} or all(row["status"] != "valid" for row in rows)
    assert all("invalid partition specified: nowhere" in row["reason"] for row in rows)
    assert "Slurm refused the submission: invalid partition specified: nowhere" in runs.page
    fault_row(
        "Slurm refuses a submission",
        injected="a partition that does not exist",
        outcome=told(rows[0]["reason"]),
        kept="the other configurations finish; after the repair this one alone is submitted",
    )


def test_a_gate_that_stays_shut_is_told_with_the_worker_that_is_missing(
    runs: Runs, fault_row: Callable[..., None]
) -> None:
    sentence = "not healthy after 3 s: 0 of 1 workers ready, missing agg_0"
    rows = [row for row in runs.summary if row["configuration"] == SHUT]
    assert rows
    assert all(sentence in row["reason"] for row in rows)
    assert sentence in runs.page
    fault_row(
        "a worker never becomes healthy on its node",
        injected="the simulator's `--fault never-healthy`",
        outcome=told(rows[0]["reason"]),
        kept="its logs; the other configurations finish, and the next run submits this one alone",
    )


def test_every_configuration_has_its_rows_in_the_summary(runs: Runs) -> None:
    status = {row["configuration"]: row["status"] for row in runs.summary}
    assert set(status) == {*GOOD, REFUSED, SHUT}
    assert {status[name] for name in GOOD} == {"valid"}


def test_the_next_run_would_submit_the_failed_two_alone(runs: Runs) -> None:
    assert runs.submissions(0) == sorted([*GOOD, REFUSED, SHUT])
    assert runs.submissions(1) == sorted([REFUSED, SHUT]), runs.output(1)
    assert runs.results[1] == runs.results[0]


def test_after_the_repair_the_two_run_and_nothing_else(runs: Runs) -> None:
    assert runs.submissions(2) == sorted([REFUSED, SHUT]), runs.output(2)
    assert runs.done[2].returncode == 0, runs.output(2)
    assert runs.results[2].items() >= runs.results[0].items()
    finished = {name.split("/")[0] for name in runs.results[2] if name.endswith("run.json")}
    assert finished == {*GOOD, REFUSED, SHUT}
    assert not runs.sweep.project.exists(f"{SHUT}/failure.json")


def test_nothing_is_left(runs: Runs, cluster: Any) -> None:
    cluster.nothing_is_left(runs.sweep.project.root)
