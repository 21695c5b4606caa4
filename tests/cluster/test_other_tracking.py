"""Slurm that ends all of a batch step with its script, as by `proctrack/cgroup` on most sites.

Several slurmds of one kernel cannot share cgroups; `proctrack/pgid` does the same to the supervisor, and
does not see processes that have left their group.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.cluster.conftest import SCRIPT, Cluster, Sweep, missing_component, run
from tests.cluster.hits import WITHOUT_WAITING_S, kill, with_a_child_that_stays
from tests.cluster.test_kinds_of_cluster import CONFIGURATION
from tests.conftest import require
from tests.faults import told

pytestmark = pytest.mark.long

NODES = 2
LONG = {"concurrencies": "1x2", "osl": 60, "args": {"itl-ms": 20}, "num_prompts_mult": 6}
CANCELLED, LEFT = "cancelled", "child-left"


@pytest.fixture(scope="module")
def tracking() -> Iterator[Cluster]:
    """The second cluster, with the other way of tracking processes."""
    missing = missing_component()
    require(missing or "", missing is None, "tests/cluster/slurm-cluster up --install")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", CONFIGURATION)
        run(SCRIPT, "up", "--nodes", str(NODES), "--no-accounting", "--proctrack", "pgid", timeout=300)
        yield Cluster(nodes=tuple(f"ssother{i}" for i in range(1, NODES + 1)), gpus_per_node=8)
        run(SCRIPT, "down", timeout=300)


@dataclass
class Hit:
    """A sweep of two, both hit in the middle of the second point, and what was there afterwards."""

    sweep: Sweep
    output: str = ""
    at: dict[str, float] = field(default_factory=dict)
    told_at: dict[str, float] = field(default_factory=dict)
    failures: dict[str, dict[str, Any]] = field(default_factory=dict)
    before: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    after: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    again: str = ""


@pytest.fixture(scope="module")
def hit(tracking: Cluster, new_project: Callable[[str], Any]) -> Iterator[Hit]:
    hit = Hit(Sweep(tracking, new_project("tracking")))
    try:
        run_twice(hit, tracking)
        yield hit
    finally:
        hit.sweep.end()


def run_twice(hit: Hit, cluster: Cluster) -> None:
    sweep = hit.sweep
    for name in (CANCELLED, LEFT):
        sweep.recipe(name, **LONG)
    with_a_child_that_stays(sweep, LEFT)
    process = sweep.start()
    todo = [CANCELLED, LEFT]

    def both_are_hit() -> bool:
        for name in [name for name in todo if sweep.requests_done(name, "c2")]:
            todo.remove(name)
            hit.at[name] = time.time()
            if name == LEFT:
                kill(cluster, sweep, name, "simulator")
            else:
                cluster.cancel(int(sweep.project.json(f"{name}/allocation.json")["job_id"]))
        return not todo

    sweep.wait_until(both_are_hit, 240, "the second points")
    hit.output = process.communicate(timeout=300)[0]
    cluster.nothing_is_left(sweep.project.root)
    for name in (CANCELLED, LEFT):
        hit.failures[name] = sweep.project.json(f"{name}/failure.json")
        hit.told_at[name] = (sweep.project.root / f"results/{name}/failure.json").stat().st_mtime
    hit.before = sweep.results()
    done = sweep.run()
    hit.again, hit.after = done.stdout, sweep.results()
    assert done.returncode == 0, done.stdout
    cluster.nothing_is_left(sweep.project.root)


def test_a_dead_worker_is_noticed_although_a_child_of_it_lives(
    hit: Hit, fault_row: Callable[..., None]
) -> None:
    failure = hit.failures[LEFT]
    assert failure["message"] == f"worker agg_0 on {failure['node']} was ended by SIGKILL"
    noticed = hit.told_at[LEFT] - hit.at[LEFT]
    assert noticed < WITHOUT_WAITING_S
    fault_row(
        "a worker is killed and a child of it lives on, `proctrack/pgid`",
        injected="the same where Slurm does not see the child",
        outcome=told(failure["message"]),
        kept="the finished point, logs; the next run measures the other point alone",
        noticed=noticed,
    )


def test_a_cancelled_job_is_told_although_its_supervisor_had_no_time(
    hit: Hit, fault_row: Callable[..., None]
) -> None:
    job = hit.sweep.submitted(hit.output)
    message = hit.failures[CANCELLED]["message"]
    assert message in {f"Slurm job {one} ended as CANCELLED" for one in job}
    fault_row(
        "a job is cancelled, `proctrack/pgid`",
        injected="`scancel` in the middle of a point, where Slurm kills the supervisor at once as by cgroups",
        outcome=told(message),
        kept="the finished point, logs, lockfile so far; the next run measures the other point alone",
    )


@pytest.mark.parametrize("name", [CANCELLED, LEFT])
def test_the_evidence_stays_and_the_next_run_measures_the_missing_point_alone(hit: Hit, name: str) -> None:
    assert {path for path in hit.before if path.startswith(f"{name}/")} == {f"{name}/points/c1/result.json"}
    assert hit.after.items() >= hit.before.items()
    assert f"{name}/run.json" in hit.after
    assert len(hit.sweep.submitted(hit.again)) == 2
    logs = {path.rpartition("/")[2] for path in hit.sweep.project.files(f"{name}/logs.1/*")}
    assert {"benchmark_c2.log", "health_gate.log", "resource_snapshot.json"} <= logs
    assert any(path.endswith("_agg_w0.out") for path in logs)
