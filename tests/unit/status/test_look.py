"""What each file of a running sweep says: stages are read, never guessed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from typing import Any

import pytest


def test_a_sweep_that_has_not_begun(directory: Any) -> None:
    directory.plan("a", nodes=3)
    view = directory.view("a")
    assert (view.stage, view.slurm_state, view.job_id, view.holds_gpus) == ("planned", None, None, False)
    assert view.gpus == 24
    assert {mode: (count.up, count.total) for mode, count in view.workers.items()} == {
        "prefill": (0, 4),
        "decode": (0, 4),
    }
    assert (view.points.valid, view.points.total, view.cpus) == (0, 5, None)


def test_the_stage_is_the_supervisors_word_until_the_gate_is_open(directory: Any) -> None:
    directory.plan("a")
    directory.started("a")
    assert directory.view("a").stage == "allocation"
    for stage in ("services", "workers", "frontend", "health_gate"):
        directory.write("a/logs/state.json", {"stage": stage, "running": [], "ended": []})
        assert directory.view("a").stage == stage
    directory.write("a/health.json", {"open": True})
    assert directory.view("a").stage == "benchmark"
    directory.write("a/logs/state.json", {"stage": "teardown"})
    assert directory.view("a").stage == "teardown"
    directory.write("a/run.json", {"digest": "d-a", "finished_at": "2026-01-01T10:01:00+00:00"})
    view = directory.view("a")
    assert (view.stage, view.finished_at) == ("finished", "2026-01-01T10:01:00+00:00")


def test_the_record_of_an_earlier_plan_finishes_nothing(directory: Any) -> None:
    directory.plan("a")
    directory.write("a/run.json", {"digest": "an older one"})
    assert directory.view("a").stage == "planned"


def test_a_failure_is_told(directory: Any) -> None:
    directory.plan("a")
    directory.started("a")
    directory.write("a/failure.json", {"stage": "workers", "message": "worker agg_0 exited with code 3"})
    view = directory.view("a")
    assert (view.stage, view.failure) == ("failed", "worker agg_0 exited with code 3")


OLDER = {"launcher": "slurm", "job_id": "17", "digest": "an older one"}


def test_what_an_earlier_plan_has_left_is_not_told_of_this_one(directory: Any) -> None:
    directory.plan("a")
    directory.write("a/allocation.json", OLDER)
    directory.write("a/health.json", {"open": True})
    directory.write("a/logs/state.json", {"stage": "benchmark"})
    directory.write("a/logs/workers.json", {"ready": ["prefill_0"]})
    directory.write("a/failure.json", {"stage": "workers", "message": "old", "digest": "an older one"})
    view = directory.view("a")
    assert (view.stage, view.job_id, view.started_at, view.workers["prefill"].up) == (
        "planned",
        None,
        None,
        0,
    )
    directory.write("a/failure.json", {"stage": "submission", "message": "Slurm refused the submission: x"})
    assert directory.view("a").stage == "failed"


@pytest.mark.parametrize(
    ("state", "stage"),
    [("PENDING", "queued"), ("RUNNING", "allocation"), ("CONFIGURING", "queued"), ("CANCELLED", "lost")],
)
def test_a_new_job_has_not_got_as_far_as_the_one_before(
    directory: Any, program: Any, state: str, stage: str
) -> None:
    directory.plan("a")
    directory.write("a/allocation.json", OLDER | {"digest": "d-a"})
    directory.write("a/health.json", {"open": True})
    program("squeue", f"echo '18|{state}|{directory.results.parent}|rule_run_wildcards_a'")
    directory.looker.ask_slurm()
    view = directory.view("a")
    assert (view.stage, view.job_id) == (stage, "18")


def test_workers_are_up_when_they_are_ready_and_still_there(directory: Any) -> None:
    directory.plan("a", roles=[("prefill", 4), ("decode", 2)])
    directory.started("a")
    directory.write("a/logs/workers.json", {"ready": ["prefill_0", "prefill_3", "decode_0", "decode_1"]})
    directory.write("a/logs/state.json", {"stage": "health_gate", "ended": ["prefill_3"]})
    restarts = {"worker": "decode_1", "outcome": "relaunched"}
    directory.write("a/logs/worker_restarts.json", {"total_restarts": 2, "events": [restarts]})
    view = directory.view("a")
    assert (view.workers["prefill"].up, view.workers["decode"].up, view.restarts) == (1, 1, 2)
    restarts = {"worker": "decode_1", "outcome": "ready"}
    directory.write("a/logs/worker_restarts.json", {"total_restarts": 2, "events": [restarts, restarts]})
    assert directory.view("a").workers["decode"].up == 2


def test_a_worker_of_several_processes_is_up_when_all_are_ready_that_tell(directory: Any) -> None:
    step = {"kind": "worker", "mode": "agg", "index": 0}
    steps = [
        {**step, "name": "agg_0", "probe": {"port": 1}},
        {**step, "name": "agg_0_r1", "probe": {"port": 2}},
        {**step, "name": "agg_0_r2", "probe": None},
    ]
    directory.write("a/plan.json", {"digest": "d", "steps": steps})
    directory.started("a")
    directory.write("a/logs/workers.json", {"ready": ["agg_0"]})
    assert directory.view("a").workers["agg"].up == 0
    directory.write("a/logs/workers.json", {"ready": ["agg_0", "agg_0_r1"]})
    assert (directory.view("a").workers["agg"].up, directory.view("a").workers["agg"].total) == (1, 1)


def test_points_count_by_their_content(directory: Any) -> None:
    directory.plan("a")
    directory.started("a")
    directory.write("a/health.json", {"open": True})
    directory.write("a/points/c1/result.json", {"valid": True, "digest": "p1"})
    directory.write("a/points/c2/result.json", {"valid": True, "digest": "of another load"})
    directory.write("a/points/c3/invalid.json", {"reasons": ["3 of 160 requests failed"]})
    directory.write("a/points/c4/progress.json", {"phase": "warmup", "output_tok_s": 10.0})
    points = directory.view("a").points
    assert (points.valid, points.invalid, points.total, points.current) == (1, 1, 5, "c4")
    assert directory.view("a").output_tok_s is None
    directory.write("a/points/c4/progress.json", {"phase": "measure", "output_tok_s": 1234.5})
    assert directory.view("a").output_tok_s == 1234.5


def test_a_file_that_is_half_there_is_as_good_as_none(directory: Any) -> None:
    directory.plan("a")
    for name in ("allocation.json", "logs/state.json", "logs/workers.json", "health.json"):
        directory.write(f"a/{name}", '{"open": tr')
    directory.write("a/points/c1/result.json", "[]")
    view = directory.view("a")
    assert (view.stage, view.points.valid) == ("planned", 0)
    assert directory.view("b").stage == "unknown"


def test_cpus_are_told_as_the_snapshot_judged_them(directory: Any) -> None:
    directory.plan("a")
    directory.started("a")
    check = {"status": "warning", "available_cpu_count": 2, "minimum_cpu_count": 4, "message": "2 CPUs for 4"}
    directory.write("a/logs/resource_snapshot.json", {"cpus": {"allocated_total": 2}, "cpu_check": check})
    assert directory.view("a").cpus.model_dump() == {
        "status": "warning", "allocated": 2, "available": 2, "minimum": 4, "message": "2 CPUs for 4",
    }  # fmt: skip
    assert directory.looker.look()[1].cpu_warnings == 1


def test_a_local_run_whose_supervisor_is_gone_is_lost(directory: Any) -> None:
    directory.plan("a")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for pid, expected in ((os.getpid(), "allocation"), (gone.pid, "lost")):
        supervisor = {"supervisor_host": socket.gethostname(), "supervisor_pid": pid}
        directory.write("a/allocation.json", {"launcher": "local", "job_id": None, **supervisor})
        assert (directory.view("a").stage, directory.view("a").holds_gpus) == (expected, expected != "lost")
    # Of another machine nothing is known.
    supervisor = {"supervisor_host": "elsewhere", "supervisor_pid": gone.pid}
    directory.write("a/allocation.json", {"launcher": "local", "job_id": None, **supervisor})
    assert directory.view("a").stage == "allocation"


def test_the_sweep_has_its_list_its_order_and_its_quota(directory: Any) -> None:
    for name in ("a", "b", "left-over"):
        directory.plan(name)
    assert directory.looker.names() == ["a", "b", "left-over"]
    directory.write("sweep.json", {"configurations": ["b", "a"], "gpu_quota": 16})
    views, sweep = directory.looker.look()
    assert [view.configuration for view in views] == ["b", "a"]
    assert (sweep.gpu_quota, sweep.points_total, sweep.stages) == (16, 10, {"planned": 2})


def test_a_file_that_has_not_changed_is_not_read_again(
    directory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.plan("a")
    directory.started("a")
    directory.view("a")
    read = []
    real = type(directory.results).read_bytes
    monkeypatch.setattr(
        type(directory.results), "read_bytes", lambda path: read.append(path.name) or real(path)
    )
    directory.view("a")
    assert read == []
    directory.write("a/logs/state.json", {"stage": "workers"})
    assert (directory.view("a").stage, read) == ("workers", ["state.json"])


def test_a_thousand_configurations_are_looked_at_in_a_moment(directory: Any) -> None:
    names = [f"c{i}" for i in range(1000)]
    for name in names:
        directory.plan(name)
        directory.started(name)
        directory.write(f"{name}/logs/workers.json", {"ready": ["prefill_0"]})
        directory.write(f"{name}/points/c1/result.json", {"valid": True, "digest": "p1"})
    directory.write("sweep.json", {"configurations": names})
    directory.looker.look()
    took = []
    for _ in range(3):
        began = time.process_time()
        _, sweep = directory.looker.look()
        took.append(time.process_time() - began)
    assert sweep.points_valid == 1000
    # CPU seconds: a tenth of this on an idle machine.
    assert min(took) < 1.0
