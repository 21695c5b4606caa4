"""The controlling Snakemake: whose lock is removed, which records stay, what is told."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from servesweep.plan.sweep_table import SweepTable
from servesweep.runtime.controller import (
    RECORDS,
    begin,
    locks_beside,
    note_controller,
    open_table,
    release_stale_lock,
    restore_locks,
    tell,
)
from servesweep.runtime.processes import start_time

LOCK = Path(".snakemake/locks/0.output.lock")


@pytest.fixture(autouse=True)
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    LOCK.parent.mkdir(parents=True)
    LOCK.touch()
    RECORDS.mkdir()


def record(name: str = "a", **changes: Any) -> None:
    fields = {"host": socket.gethostname(), "pid": dead_pid(), "started": 1} | changes
    (RECORDS / f"{name}.json").write_text(json.dumps(fields))


def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_the_lock_of_a_dead_process_is_removed(capsys: pytest.CaptureFixture[str]) -> None:
    record()
    assert release_stale_lock()
    assert not LOCK.exists()
    assert capsys.readouterr().err == (
        "An earlier controller was killed: its lock is removed, and its unfinished runs are run again.\n"
    )


def test_a_reused_process_id_is_not_its_owner() -> None:
    record(pid=os.getpid(), started=1)
    assert release_stale_lock()


def test_the_lock_of_a_living_process_stays() -> None:
    note_controller()
    assert not release_stale_lock()
    assert LOCK.exists()


def test_one_living_controller_among_dead_ones_keeps_the_lock() -> None:
    record()
    record("b", pid=os.getpid(), started=start_time(os.getpid()))
    assert not release_stale_lock()
    assert LOCK.exists()


@pytest.mark.parametrize("changes", [{"host": "another-host"}, {"pid": None}, {"pid": "7"}])
def test_what_is_not_certainly_dead_keeps_the_lock(changes: dict[str, Any]) -> None:
    record(**changes)
    assert not release_stale_lock()
    assert LOCK.exists()


def test_a_lock_without_a_record_stays() -> None:
    assert not release_stale_lock()
    assert LOCK.exists()


def test_a_broken_record_keeps_the_lock() -> None:
    (RECORDS / "a.json").write_text("{")
    assert not release_stale_lock()


def test_without_a_lock_old_records_are_forgotten(capsys: pytest.CaptureFixture[str]) -> None:
    LOCK.unlink()
    record(host="another-host")
    assert not release_stale_lock()
    assert list(RECORDS.iterdir()) == []
    assert capsys.readouterr().err == ""


def test_a_lock_beside_a_living_controller_outlives_our_end(tmp_path: Path) -> None:
    LOCK.write_text("results/a/run.json\n")
    parent = os.getppid()
    record(pid=parent, started=start_time(parent))
    note_controller()
    locks = locks_beside()
    shutil.rmtree(LOCK.parent)  # as Snakemake does at its end
    restore_locks(tmp_path, locks)
    assert LOCK.read_text() == "results/a/run.json\n"
    assert len(list(RECORDS.iterdir())) == 1


def test_the_lock_of_a_controller_that_ended_meanwhile_is_not_put_back(tmp_path: Path) -> None:
    record()
    LOCK.unlink()
    restore_locks(tmp_path, {LOCK: "results/a/run.json\n"})
    assert not LOCK.exists()


def test_locks_are_nobody_s_without_another_controller() -> None:
    note_controller()
    assert locks_beside() == {}


@pytest.mark.parametrize(
    "words",
    [
        ["snakemake", "-n", "--config", "set=a.b=1", "set=c.d=2"],
        ["snakemake", "--config", "recipes=x", "set=a.b=1", "-n", "--config", "set=c.d=2"],
        ["snakemake", "-C", "set=a.b=1", "--config=set=c.d=2"],
    ],
)
def test_a_key_of_config_that_is_given_twice_is_refused(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Snakemake keeps the last one, and the sweep would run without what was said first."""
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit):
        open_table({}, dry_run=True)
    assert "--config gives set twice, and Snakemake keeps the last alone: write set='a.b=1 c.d=2'" in (
        capsys.readouterr().err
    )


def one_configuration() -> SweepTable:
    Path("site.yaml").write_text("preflight: false\n")
    Path("one.yaml").write_text(
        "schema: 2\nname: one\nmodel: {path: /m, precision: fp8}\nengine: sglang\n"
        "roles: {agg: {nodes: 1, gpus: 8, args: {tensor-parallel-size: 8}}}\nfrontend: {type: direct}\n"
        "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1}\n"
    )
    return SweepTable.from_config({"recipes": "one.yaml", "cluster": "site.yaml"})


@pytest.mark.parametrize("target", ["plan", "report"])
def test_a_record_of_what_was_before_stays_where_nothing_is_run(target: str) -> None:
    table, record = one_configuration(), Path("results/one/run.json")
    record.parent.mkdir(parents=True)
    record.write_text('{"digest": "an older one"}')
    begin(table, {}, [target])
    assert record.exists()
    begin(table, {})
    assert not record.exists()
    assert Path("results/one/run.stale.json").read_text() == '{"digest": "an older one"}'


def test_the_record_of_what_is_now_stays() -> None:
    table, record = one_configuration(), Path("results/one/run.json")
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"digest": table.plans["one"].digest}))
    begin(table, {})
    assert record.exists()


def test_notes_and_what_a_sweep_asks_for_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("site.yaml").write_text("preflight: false\ndefault_partition: batch\n")
    Path("r.yaml").write_text(
        "schema: 2\nname: r\nmodel: {path: /m, precision: fp8}\nengine: sglang\n"
        "sweep: {g: [2, 8]}\nroles: {agg: {nodes: 1, gpus: '{g}', args: {tensor-parallel-size: '{g}'}}}\n"
        "frontend: {type: direct}\n"
        "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: [1, 4]}\n"
    )
    tell(SweepTable.from_config({"recipes": "r.yaml", "cluster": "site.yaml"}))
    assert capsys.readouterr().err.splitlines() == [
        "notes on 1 of 2 configurations; `snakemake plan` shows which",
        "  1 x 6 of 8 GPUs of n0 are idle, and held by the job",
        "2 configurations, 4 points, 1 node a job, at most 16 GPU-hours in all",
    ]
