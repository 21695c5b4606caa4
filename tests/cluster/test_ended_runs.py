"""Jobs that end, each in another way, in the middle of a point: the evidence stays, and nothing else does."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.cluster.hits import WITHOUT_WAITING_S, kill, with_a_child_that_stays
from tests.faults import told

pytestmark = pytest.mark.long

# A minute of work and more: nothing is finished before it is ended.
LONG = {"osl": 200, "args": {"itl-ms": 50}, "num_prompts_mult": 30, "num_warmup_mult": 0}
CANCELLED, KILLED, OUT_OF_TIME, NO_CLIENT = "cancelled", "worker-killed", "out-of-time", "client-killed"
LEFT = "child-left"
ENDED = (CANCELLED, KILLED, OUT_OF_TIME, NO_CLIENT, LEFT)
FaultRow = Callable[..., None]
EVIDENCE = "logs of all processes, lockfile so far, failure.json; the other configurations go on"


@dataclass
class Ended:
    """The sweep, what Snakemake said, and what was there before the second run."""

    sweep: Any
    first: subprocess.CompletedProcess[str] | None = None
    second: subprocess.CompletedProcess[str] | None = None
    jobs: dict[str, int] = field(default_factory=dict)
    before: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    after: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    failures: dict[str, dict[str, Any]] = field(default_factory=dict)
    logs: dict[str, str] = field(default_factory=dict)
    at: dict[str, float] = field(default_factory=dict)
    told_at: dict[str, float] = field(default_factory=dict)


@pytest.fixture(scope="module")
def ended(new_sweep: Any, cluster: Any) -> Ended:
    ended = Ended(new_sweep("ended"))
    sweep = ended.sweep
    sweep.recipe(CANCELLED, **LONG)
    sweep.recipe(KILLED, **LONG)
    sweep.recipe(OUT_OF_TIME, **{**LONG, "num_prompts_mult": 60}, time_limit="00:02:00")
    # Of the two points the second is long enough to be hit.
    sweep.recipe(NO_CLIENT, concurrencies="1x2", osl=100, num_prompts_mult=6, args={"itl-ms": 20})
    sweep.recipe(LEFT, **LONG)
    with_a_child_that_stays(sweep, LEFT)
    process = sweep.start()
    todo = [(CANCELLED, "c1"), (KILLED, "c1"), (NO_CLIENT, "c2"), (LEFT, "c1")]
    hit = lambda: end_those_in_their_point(cluster, sweep, todo, ended.at)  # noqa: E731
    sweep.wait_until(hit, 240, f"points of {todo}")
    output, _ = process.communicate(timeout=300)
    ended.first = subprocess.CompletedProcess(process.args, process.returncode, output, "")
    cluster.nothing_is_left(sweep.project.root)
    ended.before = sweep.results()
    ended.jobs = {name: int(sweep.project.json(f"{name}/allocation.json")["job_id"]) for name in ENDED}
    for name in ENDED:
        if sweep.project.exists(f"{name}/failure.json"):
            ended.failures[name] = sweep.project.json(f"{name}/failure.json")
            written = sweep.project.root / f"results/{name}/failure.json"
            ended.told_at[name] = written.stat().st_mtime
        ended.logs[name] = (sweep.project.root / f"results/{name}/run.log").read_text()
    for name in (CANCELLED, KILLED, OUT_OF_TIME, LEFT):
        (sweep.project.root / f"config/recipes/{name}.yaml").unlink()
    ended.second = sweep.run()
    ended.after = sweep.results()
    return ended


def end_those_in_their_point(
    cluster: Any, sweep: Any, todo: list[tuple[str, str]], at: dict[str, float]
) -> bool:
    """End each run whose point is being measured, in its own way; true when none is left to do."""
    for name, point in list(todo):
        if sweep.requests_done(name, point):
            todo.remove((name, point))
            at[name] = time.time()
            if name == CANCELLED:
                cluster.cancel(int(sweep.project.json(f"{name}/allocation.json")["job_id"]))
            else:
                kill(cluster, sweep, name, "loadgen" if name == NO_CLIENT else "simulator")
    return not todo


def test_no_ended_run_counts(ended: Ended) -> None:
    assert ended.first is not None
    assert ended.first.returncode != 0
    assert set(ended.before) == {f"{NO_CLIENT}/points/c1/result.json"}


def test_a_cancelled_job_says_so(ended: Ended, cluster: Any, fault_row: FaultRow) -> None:
    job = ended.jobs[CANCELLED]
    assert ended.failures[CANCELLED]["message"] == f"stopped by SIGTERM: job {job} was cancelled"
    assert ended.failures[CANCELLED]["stage"] == "benchmark"
    assert cluster.state(job).startswith("CANCELLED")
    fault_row(
        "a job is cancelled",
        injected="`scancel` in the middle of a point",
        outcome=told(ended.failures[CANCELLED]["message"]),
        kept=EVIDENCE,
        noticed=ended.told_at[CANCELLED] - ended.at[CANCELLED],
    )


def test_a_job_ends_before_its_time_limit(ended: Ended, cluster: Any, fault_row: FaultRow) -> None:
    job = ended.jobs[OUT_OF_TIME]
    sentence = f"ended 30 s before the time limit of job {job}, 00:02:00, is over: not measured: c1"
    assert ended.failures[OUT_OF_TIME]["message"] == sentence
    assert ended.failures[OUT_OF_TIME]["stage"] == "benchmark"
    # Slurm had nothing to end any more.
    assert cluster.state(job) == "FAILED"
    fault_row(
        "a job reaches its time limit",
        injected="`time_limit: 00:02:00` for a load of many minutes",
        outcome=told(sentence),
        kept=EVIDENCE,
    )


def test_a_killed_worker_is_named_with_its_node_its_signal_and_its_log(
    ended: Ended, fault_row: FaultRow
) -> None:
    failure = ended.failures[KILLED]
    node = failure["node"]
    assert node.startswith("ssnode")
    assert failure["message"] == f"worker agg_0 on {node} was ended by SIGKILL"
    assert (failure["step"], failure["signal"], failure["stage"]) == ("agg_0", "SIGKILL", "benchmark")
    assert failure["log"] == f"logs/{node}_agg_w0.out"
    assert any("simulator listening" in line for line in failure["tail"])
    fault_row(
        "a worker is killed on its node",
        injected="SIGKILL to the engine in the middle of a point, on another host than the user's",
        outcome=told(failure["message"]),
        kept=EVIDENCE,
        noticed=ended.told_at[KILLED] - ended.at[KILLED],
    )


def test_a_killed_client_fails_its_point_alone(ended: Ended, fault_row: FaultRow) -> None:
    failure = ended.failures[NO_CLIENT]
    assert failure["stage"] == "benchmark"
    assert failure["message"].startswith("1 of 2 points not valid: c2")
    fault_row(
        "a client is killed on its node",
        injected="SIGKILL to the benchmark client of the second point",
        outcome=told(failure["message"]),
        kept="the first point; the next run measures the second alone",
        noticed=ended.told_at[NO_CLIENT] - ended.at[NO_CLIENT],
    )


def test_a_dead_worker_is_noticed_although_a_child_of_it_lives(ended: Ended, fault_row: FaultRow) -> None:
    failure = ended.failures[LEFT]
    assert failure["message"] == f"worker agg_0 on {failure['node']} was ended by SIGKILL"
    noticed = ended.told_at[LEFT] - ended.at[LEFT]
    assert noticed < WITHOUT_WAITING_S
    fault_row(
        "a worker is killed and a child of it lives on",
        injected="SIGKILL to an engine whose child has a session of its own",
        outcome=told(failure["message"]),
        kept=EVIDENCE,
        noticed=noticed,
    )


@pytest.mark.parametrize("name", ENDED)
def test_the_evidence_stays(ended: Ended, name: str) -> None:
    sweep = ended.sweep
    kept = "logs.1" if name == NO_CLIENT else "logs"
    names = {path.rpartition("/")[2] for path in sweep.project.files(f"{name}/{kept}/*")}
    assert {"allocation.log", "benchmark_c1.log", "health_gate.log", "resource_snapshot.json"} <= names
    assert any(path.endswith("_agg_w0.out") for path in names)
    assert "FAILED in stage benchmark" in ended.logs[name]


def test_the_next_run_measures_the_missing_point_alone(ended: Ended) -> None:
    assert ended.second is not None
    assert ended.second.returncode == 0, ended.second.stdout
    assert len(ended.sweep.submitted(ended.second.stdout)) == 1
    assert ended.after.items() >= ended.before.items()
    assert set(ended.after) - set(ended.before) == {
        f"{NO_CLIENT}/points/c2/result.json",
        f"{NO_CLIENT}/run.json",
    }


def test_nothing_is_left(ended: Ended, cluster: Any) -> None:
    cluster.nothing_is_left(ended.sweep.project.root)
