"""Slurm's states, found by the executor's comment or the recorded id; `-` where Slurm cannot be asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from servesweep.status.slurm import Slurm

Program = Callable[[str, str], Path]


def printing(*rows: str) -> str:
    return "cat <<'EOF'\n" + "\n".join(rows) + "\nEOF"


def test_a_job_is_found_by_its_comment_before_it_has_left_any_file(program: Program, directory: Any) -> None:
    project = directory.results.parent
    row = f"17|PENDING|{project}|rule_run_wildcards_a recipe's own words | and more"
    program("squeue", printing(row, "18|RUNNING|/elsewhere|rule_run_wildcards_b"))
    directory.plan("a")
    directory.plan("b")
    directory.looker.ask_slurm()
    view = directory.view("a")
    assert (view.slurm_state, view.job_id, view.stage, view.holds_gpus) == ("PENDING", "17", "queued", True)
    assert directory.view("b").slurm_state is None


def test_of_several_jobs_the_latest_counts_and_a_number_given_out_again_does_not(
    program: Program, directory: Any
) -> None:
    project = directory.results.parent
    program(
        "squeue",
        printing(
            f"9|FAILED|{project}|rule_run_wildcards_a",
            f"10|RUNNING|{project}|rule_run_wildcards_a",
            f"11|RUNNING|{project}|rule_run_wildcards_c",
        ),
    )
    for name in ("a", "b"):
        directory.plan(name)
        directory.started(name, job="9" if name == "a" else "11")
    directory.looker.ask_slurm()
    assert (directory.view("a").job_id, directory.view("a").slurm_state) == ("10", "RUNNING")
    # 11 is c's by now.
    assert directory.view("b").slurm_state is None


def test_a_job_that_has_left_the_queue_is_asked_of_the_accounting_once(
    program: Program, directory: Any, tmp_path: Path
) -> None:
    project, asked = directory.results.parent, tmp_path / "asked"
    program("squeue", "true")
    program("sacct", f"echo x >> {asked}\n" + printing(f"17|CANCELLED by 1000|{project}"))
    directory.plan("a")
    directory.started("a", job="17")
    for _ in range(2):
        directory.looker.ask_slurm()
    view = directory.view("a")
    assert (view.slurm_state, view.stage, view.holds_gpus) == ("CANCELLED", "lost", False)
    assert asked.read_text() == "x\n"


def test_ended_jobs_hold_nothing_of_the_quota_and_the_others_do(program: Program, directory: Any) -> None:
    states = {"a": "RUNNING", "b": "COMPLETING", "c": "PENDING", "d": "COMPLETED", "e": "NODE_FAIL"}
    project = directory.results.parent
    rows = [
        f"{number}|{state}|{project}|rule_run_wildcards_{name}"
        for number, (name, state) in enumerate(states.items(), 1)
    ]
    program("squeue", printing(*rows))
    for name in states:
        directory.plan(name)
    directory.looker.ask_slurm()
    views, sweep = directory.looker.look()
    assert [view.configuration for view in views if view.holds_gpus] == ["a", "b", "c"]
    assert sweep.gpus_held == 24


@pytest.mark.parametrize("script", ["exit 1", "echo 'slurm_load_jobs error' >&2; exit 1"])
def test_a_slurm_that_does_not_answer_tells_nothing(script: str, program: Program, directory: Any) -> None:
    program("squeue", script)
    program("sacct", script)
    directory.plan("a")
    directory.started("a")
    directory.looker.ask_slurm()
    assert (directory.view("a").slurm_state, directory.view("a").stage) == (None, "allocation")


def test_a_machine_without_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    slurm = Slurm(tmp_path)
    slurm.ask(["17"])
    assert slurm.job("a", "17") is None
