"""Clusters as they are: no accounting, requeue, preemption, lost and drained nodes, full and slow disks.

A second cluster beside that of the other tests is the place: there a node may be lost without hurting them.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.conftest import SCRIPT, Cluster, Sweep, missing_component, run
from tests.cluster.slow_files import SlowFiles
from tests.conftest import require
from tests.faults import told

pytestmark = pytest.mark.long

NODES = 7
CONFIGURATION = "/var/lib/servesweep-cluster-2/etc/slurm.conf"
# The first point is measured when something happens in the middle of the second.
POINTS = {"concurrencies": "1x2", "osl": 60, "num_prompts_mult": 6, "args": {"itl-ms": 20}}
# Ended, and run again by the next `snakemake`.
PREEMPTED, LOST, HALVED, FULL = "preempted", "lost", "halved", "full"
# Finished by the first.
REQUEUED, DISPLACED = "requeued", "displaced"
ENDED, FINISHED = (PREEMPTED, LOST, HALVED, FULL), (REQUEUED, DISPLACED)
# Of another sweep, beside the second run of this one.
SLOW = "slow"
# Much more than it takes, also where the machine does other things besides.
PATIENCE = 600


@pytest.fixture(scope="module")
def second() -> Iterator[Cluster]:
    """A cluster without accounting, which the programs of Slurm find in this module instead of the other."""
    missing = missing_component()
    require(missing or "", missing is None, "tests/cluster/slurm-cluster up --install")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", CONFIGURATION)
        run(SCRIPT, "up", "--nodes", str(NODES), "--no-accounting", timeout=300)
        yield Cluster(nodes=tuple(f"ssother{i}" for i in range(1, NODES + 1)), gpus_per_node=8)
        run(SCRIPT, "down", timeout=300)


@dataclass
class Hit:
    """A sweep on it, each of whose configurations was hit in the middle of its second point."""

    sweep: Sweep
    slow: SlowFiles
    disk: Path
    at: dict[str, float] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)
    # Configurations whose node has no link, and what stands still there.
    away: dict[str, list[int]] = field(default_factory=dict)
    # Of both runs.
    outputs: list[str] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    results: list[dict[str, tuple[bytes, int]]] = field(default_factory=list)
    summaries: list[dict[str, list[str]]] = field(default_factory=list)
    # After the first.
    reasons: dict[str, str] = field(default_factory=dict)
    # The second run of a configuration begins its log anew.
    stories: dict[str, str] = field(default_factory=dict)
    # Of the sweep on the slow file system.
    slow_output: str = ""
    states: dict[str, str] = field(default_factory=dict)

    def hit(self, name: str) -> None:
        """Do to a configuration what it is called after."""
        allocation = self.sweep.project.json(f"{name}/allocation.json")
        node, job = str(allocation["hosts"][-1]["host"]), str(allocation["job_id"])
        self.at[name], self.nodes[name], self.jobs[name] = time.time(), node, job
        getattr(self, name)(node, job)

    def preempted(self, node: str, job: str) -> None:
        """A job of a partition that goes before `spare` takes the node."""
        words = ["sbatch", f"--nodelist={node}", "--exclusive", "--output=/dev/null"]
        run(*words, "--wrap=sleep 3")

    def displaced(self, node: str, job: str) -> None:
        # The profile has the executor submit with --no-requeue; another profile may not.
        run("scontrol", "update", f"jobid={job}", "requeue=1")
        self.preempted(node, job)

    def requeued(self, node: str, job: str) -> None:
        run("scontrol", "update", f"jobid={job}", "requeue=1")
        run("scontrol", "requeue", job)

    def lost(self, node: str, job: str) -> None:
        self._lose(LOST, node)

    def halved(self, node: str, job: str) -> None:
        """The second of its two nodes, where no supervisor is."""
        self._lose(HALVED, node)

    def _lose(self, name: str, node: str) -> None:
        """Nothing on the node goes on, and nobody reaches it."""
        run(SCRIPT, "link", node, "down")
        self.away[name] = [int(pid) for pid in run("ip", "netns", "pids", node).split()]
        for pid in self.away[name]:
            os.kill(pid, signal.SIGSTOP)
        # As Slurm would by itself, after SlurmdTimeout.
        run("scontrol", "update", f"nodename={node}", "state=down", "reason=Not responding")

    def full(self, node: str, job: str) -> None:
        with contextlib.suppress(OSError), (self.disk / "filler").open("wb", buffering=0) as filler:
            while filler.write(bytes(4096)):
                pass

    def wake(self, name: str) -> None:
        """Let what was frozen go on, still without a network."""
        for pid in self.away[name]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def back(self, name: str) -> None:
        """Give a node its link back; Slurm ends what still runs there of jobs that are over."""
        self.wake(name)
        del self.away[name]
        run(SCRIPT, "link", self.nodes[name], "up")
        run("scontrol", "update", f"nodename={self.nodes[name]}", "state=resume")

    def last_words_of_lost(self) -> str:
        """What Slurm kept of the first run on the lost node: run.log is the second's."""
        logs = self.sweep.project.root / f".snakemake/slurm_logs/rule_run/{LOST}"
        return (logs / f"{self.jobs[LOST]}.log").read_text()

    def keep(self, process: subprocess.Popen[str]) -> None:
        """Wait for the end of a run, and look at what it has left."""
        self.outputs.append(process.communicate(timeout=PATIENCE)[0])
        self.codes.append(process.returncode)
        self.results.append(self.sweep.results())
        project = self.sweep.project
        with (project.root / "results/summary.csv").open() as table:
            rows = list(csv.DictReader(table))
        names = {row["configuration"] for row in rows}
        self.summaries.append(
            {name: [row["status"] for row in rows if row["configuration"] == name] for name in names}
        )
        if len(self.outputs) == 1:
            self.stories = {name: first_story(project, name) for name in names}
            self.reasons = {row["configuration"]: row["reason"] for row in rows if row["status"] != "valid"}

    def noticed(self, name: str) -> float:
        """Seconds from the fault to the first word of it, in the run's own story or from Snakemake."""
        at = datetime.fromtimestamp(self.at[name])
        if by_itself := re.search(r"^(\S+) FAILED in stage", self.stories[name], re.M):
            moment = datetime.strptime(by_itself.group(1), "%H:%M:%S").replace(at.year, at.month, at.day)
        else:
            block = rf"^\[(.+)\]\nError in rule run:\n    message: SLURM-job '{self.jobs[name]}'"
            seen = re.search(block, self.outputs[0], re.M)
            assert seen is not None, self.outputs[0]
            moment = datetime.strptime(seen.group(1), "%a %b %d %H:%M:%S %Y")
        # Both tell whole seconds.
        return (moment - at).total_seconds() + 1


def first_story(project: Any, name: str) -> str:
    """The log of a configuration's first start, which a second one sets aside."""
    kept = project.root / "results" / name
    return next(path for path in (kept / "logs.1/run.log", kept / "run.log") if path.exists()).read_text()


@pytest.fixture(scope="module")
def hit(second: Cluster, new_project: Callable[[str], Any]) -> Iterator[Hit]:
    sweep = Sweep(second, new_project("kinds"))
    disk = sweep.project.root / "results" / FULL
    disk.mkdir(parents=True)
    run("mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk)
    hit = Hit(sweep, SlowFiles(Sweep(second, new_project("slow"))), disk)
    try:
        run_twice(hit)
        yield hit
    finally:
        sweep.end()
        hit.slow.sweep.end()
        run("umount", "--lazy", disk)
        for name in list(hit.away):
            hit.back(name)


def run_twice(hit: Hit) -> None:
    """The sweep with everything that happens to it, then the same command again."""
    sweep = hit.sweep
    for name in (*ENDED, *FINISHED):
        partition = {"partition": "spare"} if name in (PREEMPTED, DISPLACED) else {}
        sweep.recipe(name, **POINTS, **partition)
    over_two_nodes(sweep, HALVED)
    process = sweep.start()
    todo = [*ENDED, *FINISHED]

    def all_are_hit() -> bool:
        for name in list(todo):
            if sweep.requests_done(name, "c2"):
                todo.remove(name)
                hit.hit(name)
        return not todo

    sweep.wait_until(all_are_hit, PATIENCE, "second points")
    hit.keep(process)
    other = hit.sweep.project.json(f"{HALVED}/allocation.json")["hosts"][0]["host"]
    left = lambda: sweep.cluster.processes(other) or sweep.cluster.listening(other)  # noqa: E731
    sweep.cluster.wait_until(lambda: not left(), PATIENCE, f"nothing left on {other}")
    hit.back(HALVED)
    (hit.disk / "filler").unlink()
    again = sweep.start()
    run_on_slow_files(hit)
    hit.keep(again)
    # The run on the lost node wakes up when another one has taken its place, and finished.
    hit.wake(LOST)
    over = "At least one job did not complete"
    sweep.cluster.wait_until(lambda: over in hit.last_words_of_lost(), PATIENCE, "the end of the lost run")
    hit.back(LOST)
    hit.results.append(sweep.results())


def over_two_nodes(sweep: Sweep, name: str) -> None:
    """A worker on each of two nodes, behind a router."""
    path = sweep.project.root / f"config/recipes/{name}.yaml"
    recipe = json.loads(path.read_text())
    recipe["roles"]["agg"] |= {"nodes": 2, "workers": 2}
    recipe["frontend"] = {"type": "sglang-router"}
    path.write_text(json.dumps(recipe))


def run_on_slow_files(hit: Hit) -> None:
    """A sweep of one configuration, whose node is drained in the middle of its point."""
    sweep = hit.slow.sweep
    sweep.recipe(SLOW, **POINTS | {"concurrencies": "1"})
    process = hit.slow.start()
    sweep.wait_for_point(SLOW, "c1", PATIENCE)
    node = sweep.project.json(f"{SLOW}/allocation.json")["hosts"][0]["host"]
    sweep.cluster.drain(node)
    hit.slow_output, _ = process.communicate(timeout=PATIENCE)
    hit.states = {node: sweep.cluster.node_states()[node]}
    sweep.cluster.resume(node)


def test_without_accounting_a_sweep_ends_and_tells_of_all(hit: Hit, fault_row: Callable[..., None]) -> None:
    assert hit.codes == [1, 0], hit.outputs
    first, second = hit.summaries
    names = (*ENDED, *FINISHED)
    # On the full disk nothing could be written down, not even the failure.
    second_points = dict.fromkeys(FINISHED, "valid") | dict.fromkeys(ENDED, "failed") | {FULL: "not run"}
    assert first == {name: ["valid", second_points[name]] for name in names}
    assert second == {name: ["valid", "valid"] for name in names}
    fault_row(
        "a cluster has no accounting",
        injected="`AccountingStorageType=accounting_storage/none`: sacct tells nothing",
        outcome="states come from squeue; with it every fault of such a cluster was noticed",
        kept="everything",
    )


@pytest.mark.parametrize("name", ENDED)
def test_finished_points_stay_and_the_next_run_measures_the_other_alone(hit: Hit, name: str) -> None:
    first, second, last = hit.results
    assert first.items() <= second.items()
    assert last == second
    assert {path for path in first if path.startswith(f"{name}/")} == {f"{name}/points/c1/result.json"}
    assert f"{name}/run.json" in second
    assert len(hit.sweep.submitted(hit.outputs[1])) == len(ENDED)


def test_a_preempted_job_says_so_and_does_not_hold_up_the_sweep(
    hit: Hit, fault_row: Callable[..., None]
) -> None:
    assert hit.reasons[PREEMPTED].endswith(f"stopped by SIGTERM: job {hit.jobs[PREEMPTED]} was preempted")
    fault_row(
        "a job is preempted",
        injected="a job of a partition with a higher PriorityTier takes its node",
        outcome=told(hit.reasons[PREEMPTED]),
        kept="the finished point, logs, lockfile; the next run measures the other point alone",
        noticed=hit.noticed(PREEMPTED),
    )


@pytest.mark.parametrize(
    ("name", "fault", "injected"),
    [
        (REQUEUED, "a job is requeued", "`scontrol requeue` in the middle of a point, requeue being allowed"),
        (
            DISPLACED,
            "a job is preempted and requeued",
            "a job of a higher PriorityTier takes its node, requeue being allowed",
        ),
    ],
)
def test_a_requeued_job_goes_on_where_it_was(
    hit: Hit, name: str, fault: str, injected: str, fault_row: Callable[..., None]
) -> None:
    message = f"stopped by SIGTERM: job {hit.jobs[name]} goes back into the queue"
    assert f"FAILED in stage benchmark: {message}" in hit.stories[name]
    assert hit.sweep.project.json(f"{name}/run.json")["job_id"] == hit.jobs[name]
    assert not hit.sweep.project.exists(f"{name}/failure.json")
    # Measured once, while the job was there for the first time.
    c1 = hit.sweep.project.root / f"results/{name}/points/c1/result.json"
    assert c1.stat().st_mtime < hit.at[name]
    assert len(hit.sweep.project.files(f"{name}/logs*/allocation.log")) == 2
    fault_row(
        fault,
        injected=injected,
        outcome=f"{told(message)}; started again it measures the rest, and the same `snakemake` ends with 0",
        kept="the finished point, the logs of both starts",
        noticed=hit.noticed(name),
    )


def test_a_lost_node_is_told_and_its_run_does_not_come_back(hit: Hit, fault_row: Callable[..., None]) -> None:
    node, job = hit.nodes[LOST], hit.jobs[LOST]
    assert hit.reasons[LOST].endswith(f"Slurm job {job} ended as NODE_FAIL")
    record = hit.sweep.project.json(f"{LOST}/run.json")
    assert record["job_id"] != job
    other = record["nodes"][0]["host"]
    assert other != node
    # The run on the lost node sees its successor when it wakes up, and touches nothing of it.
    assert f"job {record['job_id']} on {other} runs this configuration now" in hit.last_words_of_lost()
    assert hit.sweep.log(LOST).count("every point is valid") == 1
    assert not hit.sweep.project.exists(f"{LOST}/failure.json")
    fault_row(
        "a node is lost",
        injected="its link is cut and all its processes stand still; later they go on, without a link",
        outcome=f"{told(hit.reasons[LOST])}; awake again, its run sees that it was replaced, and ends",
        kept="the finished point, logs; the next run measures the other point on another node",
        noticed=hit.noticed(LOST),
    )


def test_a_job_that_loses_one_of_its_nodes_ends_on_the_others(
    hit: Hit, fault_row: Callable[..., None]
) -> None:
    job, node = hit.jobs[HALVED], hit.nodes[HALVED]
    # Slurm tells the step's client and the batch step at the same time.
    (said,) = re.findall(r"FAILED in stage benchmark: (.*)", hit.stories[HALVED])
    assert said in {
        f"worker agg_1 on {node} is lost: node {node} has failed",
        f"stopped by SIGTERM: a node of job {job} has failed",
    }
    assert hit.reasons[HALVED].endswith(said)
    record = hit.sweep.project.json(f"{HALVED}/run.json")
    assert record["job_id"] != job
    assert len(record["nodes"]) == 2
    logs = {path.rpartition("/")[2] for path in hit.sweep.project.files(f"{HALVED}/logs.1/*")}
    assert {"benchmark_c2.log", "health_gate.log", "resource_snapshot.json"} <= logs
    assert f"{node}_agg_w1.out" in logs
    fault_row(
        "a node of several is lost",
        injected="the same on the second of two nodes, where a worker is and no supervisor",
        outcome=f"{told(said)}; nothing of it is left on the other node",
        kept="the finished point, logs, lockfile; the next run measures the other point alone",
        noticed=hit.noticed(HALVED),
    )


def test_a_drained_node_finishes_what_it_does(hit: Hit, fault_row: Callable[..., None]) -> None:
    (node,) = hit.states
    assert hit.slow.sweep.project.json(f"{SLOW}/run.json")["nodes"][0]["host"] == node
    assert hit.states[node] == "drain"
    fault_row(
        "a node is drained",
        injected="`scontrol update state=drain` in the middle of a point",
        outcome="the run finishes; no further job starts there",
        kept="everything",
    )


def test_a_full_disk_is_one_sentence_and_hides_nothing_of_the_others(
    hit: Hit, fault_row: Callable[..., None]
) -> None:
    refused = re.search(rf"^\S*results/{FULL}/failure\.json: No space left on device", hit.outputs[0], re.M)
    assert refused is not None, hit.outputs[0]
    assert "FAILED in stage benchmark: 1 of 2 points not valid: c2" in hit.stories[FULL]
    assert "Traceback" not in hit.outputs[0] + hit.stories[FULL]
    fault_row(
        "a disk is full at the result",
        injected="the file system of the results is filled up in the middle of a point",
        outcome=f"{told(refused.group())}; the tables of all configurations are written",
        kept="the finished point; with room again the next run measures the other point alone",
        noticed=hit.noticed(FULL),
    )


def test_results_that_are_seen_late_are_waited_for(hit: Hit, fault_row: Callable[..., None]) -> None:
    (process,) = hit.slow.sweep.started
    assert process.returncode == 0, hit.slow_output
    assert hit.slow.waiting_since is not None
    # As the login node has seen it: the table has the result that was seen after its record.
    seen = hit.slow.sweep.project.root / "seen"
    with (seen / "summary.csv").open() as table:
        assert [row["status"] for row in csv.DictReader(table)] == ["valid"]
    assert "status: valid" in (seen / f"{SLOW}/recipe.lock.yaml").read_text()
    fault_row(
        "a file system shows files late",
        injected="run.json is seen 7 s late on the login node, and the results that it tells of 11 s late",
        outcome="Snakemake waits (`latency-wait`), the lockfile and the table wait for the results",
        kept="everything",
    )


def test_nothing_is_left(hit: Hit) -> None:
    hit.sweep.cluster.nothing_is_left(hit.sweep.project.root, PATIENCE)
    hit.sweep.cluster.nothing_is_left(hit.slow.sweep.project.root, PATIENCE)
