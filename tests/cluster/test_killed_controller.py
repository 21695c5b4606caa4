"""The controlling Snakemake dies, or is told to stop: nothing is measured twice, no job is left to itself."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.faults import told

FaultRow = Callable[..., None]
# Long enough to be killed in the middle of the second point.
POINTS = {"concurrencies": "1x2x3", "osl": 60, "num_prompts_mult": 6, "args": {"itl-ms": 20}}


@pytest.fixture
def closed(cluster: Any) -> Iterator[Callable[[], None]]:
    """The partition of that name takes jobs and starts none; called, it is opened."""
    partition = "partitionname=closed"
    words = ["nodes=ALL", "maxtime=INFINITE", "prioritytier=10", "preemptmode=off", "state=down"]
    subprocess.run(["scontrol", "create", partition, *words], check=True)
    yield lambda: subprocess.run(["scontrol", "update", partition, "state=up"], check=True)
    subprocess.run(["scancel", "--partition=closed"], check=True)
    jobs = lambda: subprocess.check_output(["squeue", "-h", "--partition=closed"])  # noqa: E731
    cluster.wait_until(lambda: not jobs(), 60, "the last job of the partition to end")
    subprocess.run(["scontrol", "delete", partition], check=True)


def story(sweep: Any, name: str) -> str:
    return str((sweep.project.root / f"results/{name}/run.log").read_text())


def signal_client(cluster: Any, sweep: Any, name: str, number: str) -> None:
    """A signal to the benchmark client of a configuration."""
    node = sweep.project.json(f"{name}/allocation.json")["hosts"][0]["host"]
    clients = [pid for pid, command in cluster.processes(node) if "servesweep.loadgen" in command]
    cluster.execute(node, "kill", f"-{number}", *map(str, clients))


@dataclass
class Both:
    """Two sweeps at once from two directories: Ctrl-C for the one, kill -9 and a second try for the other."""

    interrupted: Any
    resumed: Any
    cancelled: int
    orphan: int
    before: dict[str, tuple[bytes, int]]
    second: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def both(new_sweep: Any, cluster: Any) -> Both:
    interrupted, resumed = new_sweep("interrupted"), new_sweep("resumed")
    interrupted.recipe("interrupted", **POINTS | {"num_prompts_mult": 100})
    resumed.recipe("resumed", **POINTS)
    controllers = interrupted.start(), resumed.start()
    interrupted.wait_for_point("interrupted", "c1")
    resumed.wait_for_point("resumed", "c2")
    cancelled, orphan = interrupted.jobs()["interrupted"]["job_id"], resumed.jobs()["resumed"]["job_id"]
    os.killpg(controllers[0].pid, signal.SIGINT)
    os.killpg(controllers[1].pid, signal.SIGKILL)
    # An orphan that could finish before anybody comes would prove nothing.
    signal_client(cluster, resumed, "resumed", "STOP")
    before = resumed.results()
    for controller in controllers:
        controller.communicate(timeout=120)
    return Both(interrupted, resumed, cancelled, orphan, before, resumed.run())


def test_ctrl_c_cancels_the_jobs_of_its_own_sweep_alone(
    both: Both, cluster: Any, fault_row: FaultRow
) -> None:
    assert both.interrupted.started[0].returncode != 0
    assert cluster.state(both.cancelled).startswith("CANCELLED")
    assert not both.interrupted.results()
    failure = both.interrupted.project.json("interrupted/failure.json")
    assert failure["message"] == f"stopped by SIGTERM: job {both.cancelled} was cancelled"
    cluster.nothing_is_left(both.interrupted.project.root)
    fault_row(
        "Ctrl-C on a cluster",
        injected="SIGINT to `snakemake` in the middle of a point, beside another sweep",
        outcome=f"its jobs are cancelled, the other sweep's are not: {told(failure['message'])}",
        kept="logs, lockfile so far",
    )


def test_after_kill_9_the_same_command_finishes_and_repeats_nothing(
    both: Both, cluster: Any, fault_row: FaultRow
) -> None:
    assert both.second.returncode == 0, both.second.stdout
    assert "An earlier controller was killed" in both.second.stdout
    assert len(both.resumed.submitted(both.second.stdout)) == 1
    after = both.resumed.results()
    assert "resumed/points/c1/result.json" in both.before
    assert after.items() >= both.before.items()
    assert set(after) == {
        "resumed/run.json",
        *(f"resumed/points/c{n}/result.json" for n in (1, 2, 3)),
    }
    cluster.nothing_is_left(both.resumed.project.root)
    assert "Nothing to be done" in both.resumed.run().stdout
    fault_row(
        "`snakemake` is killed on a cluster",
        injected="SIGKILL to the controlling process while its job measures",
        outcome="the same command cancels the job that was left, and measures what is missing",
        kept="the finished points",
    )


def test_the_orphan_of_a_killed_controller_is_cancelled(both: Both, cluster: Any) -> None:
    assert cluster.state(both.orphan).startswith("CANCELLED")
    assert f"job {both.orphan} of an earlier controller" in story(both.resumed, "resumed")


@pytest.mark.parametrize(
    ("number", "how"),
    [
        (signal.SIGINT, "Ctrl-C that ends what reads the output, too, as `tee`"),
        (signal.SIGHUP, "the terminal is closed"),
    ],
    ids=["a-dead-reader", "a-closed-terminal"],
)
def test_jobs_are_cancelled_where_nobody_reads_of_it(
    number: signal.Signals, how: str, sweep: Any, cluster: Any, fault_row: FaultRow
) -> None:
    sweep.recipe("unread", **POINTS | {"num_prompts_mult": 100})
    controller = sweep.start()
    sweep.wait_for_point("unread", "c1")
    job = sweep.jobs()["unread"]["job_id"]
    controller.stdout.close()
    os.killpg(controller.pid, number)
    assert controller.wait(timeout=120) == 1
    sweep.wait_until(lambda: not sweep.jobs(), 60, "the end of the job")
    assert cluster.state(job).startswith("CANCELLED")
    failure = sweep.project.json("unread/failure.json")
    assert failure["message"] == f"stopped by SIGTERM: job {job} was cancelled"
    assert (sweep.project.root / "results/report.html").exists()
    cluster.nothing_is_left(sweep.project.root)
    fault_row(
        how,
        injected=f"{number.name} to `snakemake`, whose output nobody reads any more",
        outcome=f"its jobs are cancelled: {told(failure['message'])}",
        kept="the finished points; tables and report of what is there",
    )


def test_an_orphan_that_still_waits_gives_way(
    closed: Callable[[], None], sweep: Any, cluster: Any, fault_row: FaultRow
) -> None:
    sweep.recipe("waiting", partition="closed")
    process = sweep.start()
    sweep.wait_until(lambda: "waiting" in sweep.jobs(), 60, "the submission")
    orphan = sweep.jobs()["waiting"]["job_id"]
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()

    process = sweep.start()
    sweep.wait_until(lambda: sweep.jobs()["waiting"]["job_id"] != orphan, 60, "the second submission")
    mine = sweep.jobs()["waiting"]["job_id"]
    waiting = {row["job_id"] for row in cluster.squeue() if row["job_state"] == "PENDING"}
    assert waiting >= {orphan, mine}
    closed()
    output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, output
    assert sweep.project.json("waiting/run.json")["job_id"] == str(mine)
    assert cluster.state(mine) == "COMPLETED"
    # Where both start at one moment, the orphan may have begun before it gives way.
    assert cluster.state(orphan).startswith("CANCELLED")
    cluster.nothing_is_left(sweep.project.root)
    fault_row(
        "`snakemake` is killed while its job waits",
        injected="SIGKILL to the controlling process, the partition being down",
        outcome="the job of the second `snakemake` cancels the one that was left,"
        " and the results are its own",
        kept="everything",
    )
