"""Jobs that end, each in another way, in the middle of a point: the evidence stays, and nothing else does."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from typing import Any

import pytest

# A minute of work and more: nothing is finished before it is ended.
LONG = {"osl": 200, "args": {"itl-ms": 50}, "num_prompts_mult": 30, "num_warmup_mult": 0}
CANCELLED, KILLED, OUT_OF_TIME, NO_CLIENT = "cancelled", "worker-killed", "out-of-time", "client-killed"
ENDED = (CANCELLED, KILLED, OUT_OF_TIME, NO_CLIENT)


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


@pytest.fixture(scope="module")
def ended(new_sweep: Any, cluster: Any) -> Ended:
    ended = Ended(new_sweep("ended"))
    sweep = ended.sweep
    sweep.recipe(CANCELLED, **LONG)
    sweep.recipe(KILLED, **LONG)
    sweep.recipe(OUT_OF_TIME, **LONG, time_limit="00:01:00", patience=15)
    # Of the two points the second is long enough to be hit.
    sweep.recipe(NO_CLIENT, concurrencies="1x2", osl=100, num_prompts_mult=6, args={"itl-ms": 20})
    process = sweep.start()
    todo = [(CANCELLED, "c1"), (KILLED, "c1"), (NO_CLIENT, "c2")]
    sweep.wait_until(lambda: end_those_in_their_point(cluster, sweep, todo), 240, f"points of {todo}")
    output, _ = process.communicate(timeout=300)
    ended.first = subprocess.CompletedProcess(process.args, process.returncode, output, "")
    cluster.nothing_is_left(sweep.project.root)
    ended.before = sweep.results()
    ended.jobs = {name: int(sweep.project.json(f"{name}/allocation.json")["job_id"]) for name in ENDED}
    for name in ENDED:
        if sweep.project.exists(f"{name}/failure.json"):
            ended.failures[name] = sweep.project.json(f"{name}/failure.json")
        ended.logs[name] = (sweep.project.root / f"results/{name}/run.log").read_text()
    for name in (CANCELLED, KILLED, OUT_OF_TIME):
        (sweep.project.root / f"config/recipes/{name}.yaml").unlink()
    ended.second = sweep.run()
    ended.after = sweep.results()
    return ended


def end_those_in_their_point(cluster: Any, sweep: Any, todo: list[tuple[str, str]]) -> bool:
    """End each run whose point is being measured, in its own way; true when none is left to do."""
    for name, point in list(todo):
        if sweep.requests_done(name, point):
            todo.remove((name, point))
            if name == CANCELLED:
                cluster.cancel(int(sweep.project.json(f"{name}/allocation.json")["job_id"]))
            else:
                kill(cluster, sweep, name, "servesweep.simulator" if name == KILLED else "servesweep.loadgen")
    return not todo


def kill(cluster: Any, sweep: Any, name: str, program: str) -> None:
    """SIGKILL to a configuration's processes of a program, on the node where they are."""
    allocation = sweep.project.json(f"{name}/allocation.json")
    node = allocation["hosts"][0]["host"]
    for pid, command in cluster.processes(node):
        if program in command and command.startswith(("python3", "/")) and "srun" not in command:
            cluster.execute(node, "kill", "-9", str(pid))


def test_no_ended_run_counts(ended: Ended) -> None:
    assert ended.first is not None
    assert ended.first.returncode != 0
    assert set(ended.before) == {f"{NO_CLIENT}/points/c1/result.json"}


def test_a_cancelled_job_says_so(ended: Ended, cluster: Any) -> None:
    job = ended.jobs[CANCELLED]
    assert ended.failures[CANCELLED]["message"] == f"stopped by SIGTERM: job {job} was cancelled"
    assert ended.failures[CANCELLED]["stage"] == "benchmark"
    assert cluster.state(job).startswith("CANCELLED")


def test_a_job_out_of_time_says_so(ended: Ended, cluster: Any) -> None:
    job = ended.jobs[OUT_OF_TIME]
    sentence = f"stopped by SIGTERM: the time limit of job {job}, 00:01:00, is over"
    assert ended.failures[OUT_OF_TIME]["message"] == sentence
    assert cluster.state(job) == "TIMEOUT"


def test_a_killed_worker_is_named_with_its_node_its_signal_and_its_log(ended: Ended) -> None:
    failure = ended.failures[KILLED]
    node = failure["node"]
    assert node.startswith("ssnode")
    assert failure["message"] == f"worker agg_0 on {node} was ended by SIGKILL"
    assert (failure["step"], failure["signal"], failure["stage"]) == ("agg_0", "SIGKILL", "benchmark")
    assert failure["log"] == f"logs/{node}_agg_w0.out"
    assert any("simulator listening" in line for line in failure["tail"])


def test_a_killed_client_fails_its_point_alone(ended: Ended) -> None:
    failure = ended.failures[NO_CLIENT]
    assert failure["stage"] == "benchmark"
    assert failure["message"].startswith("1 of 2 points not valid: c2")


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
