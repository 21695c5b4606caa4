"""The controlling Snakemake dies, or is told to stop: nothing is measured twice, no job is left to itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

# Long enough to be killed in the middle of the second point.
POINTS = {"concurrencies": "1x2x3", "osl": 60, "num_prompts_mult": 6, "args": {"itl-ms": 20}}


@pytest.fixture
def full_cluster(cluster: Any) -> Iterator[Any]:
    """A job that holds every GPU, so that whatever is submitted waits; called, it lets go."""
    words = ["sbatch", "--parsable", "--nodes=4", "--gpus-per-node=8", "--mem=100", "--time=10"]
    job = int(subprocess.check_output([*words, "--output=/dev/null", "--wrap=sleep 600"], text=True))
    cluster.wait_until(lambda: cluster.state(job) == "RUNNING", 120, "the job that fills the cluster")

    def release() -> None:
        cluster.cancel(job)

    yield release
    release()


def story(sweep: Any, name: str) -> str:
    return str((sweep.project.root / f"results/{name}/run.log").read_text())


def test_after_kill_9_the_same_command_finishes_and_repeats_nothing(sweep: Any, cluster: Any) -> None:
    sweep.recipe("resumed", **POINTS)
    process = sweep.start()
    sweep.wait_for_point("resumed", "c2")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    orphan = sweep.jobs()["resumed"]["job_id"]
    before = sweep.results()
    assert "resumed/points/c1/result.json" in before

    done = sweep.run()
    assert done.returncode == 0, done.stdout
    assert "An earlier controller was killed" in done.stdout
    assert len(sweep.submitted(done.stdout)) == 1
    after = sweep.results()
    assert after.items() >= before.items()
    assert {f"resumed/points/c{n}/result.json" for n in (1, 2, 3)} < set(after)
    assert cluster.state(orphan).startswith("CANCELLED")
    assert f"job {orphan} of an earlier controller" in story(sweep, "resumed")
    cluster.nothing_is_left(sweep.project.root)
    assert sweep.run().stdout.count("Nothing to be done") == 1


def test_an_orphan_that_still_waits_gives_way(sweep: Any, cluster: Any, full_cluster: Any) -> None:
    sweep.recipe("waiting")
    process = sweep.start()
    cluster.wait_until(lambda: "waiting" in sweep.jobs(), 60, "the submission")
    orphan = sweep.jobs()["waiting"]["job_id"]
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()

    process = sweep.start()
    cluster.wait_until(lambda: sweep.jobs()["waiting"]["job_id"] != orphan, 60, "the second submission")
    mine = sweep.jobs()["waiting"]["job_id"]
    full_cluster()
    output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, output
    assert sweep.project.json("waiting/run.json")["job_id"] == str(mine)
    assert cluster.state(mine) == "COMPLETED"
    assert cluster.state(orphan) != "COMPLETED"
    assert re.findall(r"started agg_0", story(sweep, "waiting")) == ["started agg_0"]
    cluster.nothing_is_left(sweep.project.root)


def test_ctrl_c_cancels_the_jobs_of_its_own_sweep_alone(sweep: Any, cluster: Any, new_sweep: Any) -> None:
    """Two sweeps run from two directories at once; one of them is interrupted, the other one finishes."""
    other = new_sweep("other")
    other.recipe("undisturbed", **POINTS)
    sweep.recipe("interrupted", **POINTS)
    process, undisturbed = sweep.start(), other.start()
    sweep.wait_for_point("interrupted", "c1")
    job = sweep.jobs()["interrupted"]["job_id"]
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode != 0
    cluster.nothing_is_left(sweep.project.root)
    assert cluster.state(job).startswith("CANCELLED")
    assert not sweep.project.exists("interrupted/run.json")
    assert sweep.project.json("interrupted/failure.json")["message"].startswith("stopped by SIGTERM")

    output, _ = undisturbed.communicate(timeout=200)
    assert undisturbed.returncode == 0, output
    assert other.project.json("undisturbed/run.json")["points"] == ["c1", "c2", "c3"]
    cluster.nothing_is_left(other.project.root)
