"""What was interrupted goes on where it stopped: finished points are never measured twice."""

from __future__ import annotations

import csv
import json
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from tests.faults import told

Processes = Callable[..., dict[int, str]]
Eventually = Callable[[Callable[[], Any]], Any]
FaultRow = Callable[..., None]
LONG_ANSWERS = {"ttft-ms": 5, "itl-ms": 60}
LONG_POINTS = {"osl": 32, "random_range_ratio": 1.0, "concurrencies": "1x2", "num_prompts_mult": 1}


def start_snakemake(quick: Any, *words: str) -> Any:
    return quick.project.start(*words, "--config", "recipes=config/recipes")


def statuses(quick: Any) -> dict[str, str]:
    rows = csv.DictReader((quick.project.root / "results/summary.csv").open())
    return {row["point"]: row["status"] for row in rows}


def test_after_a_killed_client_only_its_point_is_measured_again(
    quick: Any, processes: Processes, eventually: Eventually, fault_row: FaultRow
) -> None:
    quick.recipe(LONG_ANSWERS, benchmark=LONG_POINTS)
    sweep = start_snakemake(quick)
    client = eventually(
        lambda: processes(quick.project.root, "servesweep.loadgen " + str(_load(quick, "c2")))
    )
    os.kill(min(client), signal.SIGKILL)
    out, _ = sweep.communicate(timeout=120)
    assert sweep.returncode == 1, out
    assert quick.json("failure.json")["message"] == "1 of 2 points not valid: c2 (no result)"
    assert not quick.exists("run.json")
    # `onerror` has written the tables.
    assert statuses(quick) == {"c1": "valid", "c2": "failed"}
    assert (quick.project.root / "results/report.html").exists()
    before = quick.kept("points/c1/*")

    again = quick.snakemake()
    assert again.returncode == 0, again.stdout
    assert quick.kept("points/c1/*") == before
    assert quick.exists("run.json")
    assert not quick.exists("failure.json")
    assert statuses(quick) == {"c1": "valid", "c2": "valid"}
    fault_row(
        "a client is killed",
        injected="SIGKILL to the benchmark client of a point",
        outcome=told("1 of 2 points not valid: c2 (no result)"),
        kept="the other point; the next run measures this one alone",
    )


@pytest.mark.parametrize(
    ("fault", "reason", "row"),
    [
        # The gate's own request is the first; the two of c1 are the next.
        ("empty-after:3", "tokens", "answers have no tokens from the middle of a sweep on"),
        ("wrong-model-after:3:another", "another", "another model answers from the middle of a sweep on"),
    ],
)
def test_a_point_with_zero_tokens_or_a_wrong_model_does_not_count(
    quick: Any, fault: str, reason: str, row: str, fault_row: FaultRow
) -> None:
    quick.recipe({"fault": fault})
    failed = quick.run()
    assert failed.returncode == 1, failed.stdout
    assert quick.json("points/c1/result.json")["valid"] is True
    assert not quick.exists("points/c2/result.json")
    assert not quick.exists("run.json")
    assert reason in " ".join(quick.json("points/c2/invalid.json")["reasons"])
    assert "c2" in quick.json("failure.json")["message"]
    before = quick.kept("points/c1/*")

    # The fault counts from the server's start: now c2 gets the good answers, and c1 needs none.
    again = quick.run()
    assert again.returncode == 1, again.stdout
    assert quick.kept("points/c1/*") == before
    fault_row(
        row,
        injected=f"the simulator's `--fault {fault}`",
        outcome="the point does not count, and says why",
        kept="the points before it; the wrong one as invalid.json",
    )


def _load(quick: Any, point: str) -> Any:
    return quick.project.root.resolve() / "results/quick/points" / point / "load.json"


def test_a_further_concurrency_measures_the_new_point_alone(quick: Any) -> None:
    assert quick.run().returncode == 0
    before = quick.kept("points/*/*")
    quick.recipe(benchmark={"concurrencies": "1x2x3"})
    done = quick.run()
    assert done.returncode == 0, done.stdout
    after = quick.kept("points/*/*")
    assert {name: after[name] for name in before} == before
    assert quick.json("points/c3/result.json")["valid"] is True
    assert quick.json("run.json")["points"] == ["c1", "c2", "c3"]


def test_broken_and_foreign_results_are_set_aside_and_measured_again(quick: Any, fault_row: FaultRow) -> None:
    assert quick.run().returncode == 0
    root = quick.project.root / "results/quick"
    whole = (root / "points/c1/result.json").read_text()
    (root / "points/c1/result.json").write_text(whole[: len(whole) // 2])
    foreign = quick.json("points/c2/result.json") | {"digest": "0" * 16}
    (root / "points/c2/result.json").write_text(json.dumps(foreign))
    (root / "allocation.json").write_text("{")
    done = quick.run()
    assert done.returncode == 0, done.stdout
    for point in ("c1", "c2"):
        assert f"the earlier result of {point} does not count any more" in done.stdout
        assert quick.json(f"points/{point}/result.json")["valid"] is True
    assert quick.json("points/c2/result.stale.json") == foreign
    fault_row(
        "a result is half a file",
        injected="the second half of result.json is cut off",
        outcome=told("the earlier result of c1 does not count any more: it is measured again"),
        kept="the half, as result.stale.json",
    )
    fault_row(
        "a result is of another recipe",
        injected="a result.json with another digest",
        outcome=told("the earlier result of c2 does not count any more: it is measured again"),
        kept="the other's result, as result.stale.json",
    )


def test_when_every_point_is_there_nothing_is_started(quick: Any, fault_row: FaultRow) -> None:
    assert quick.run().returncode == 0
    (quick.project.root / "results/quick/run.json").unlink()
    # What lies between the end of a run and its record, a night perhaps, is no time of its GPUs.
    last = quick.project.root / "results/quick/points/c1/result.json"
    os.utime(last, (1_900_000_000, 1_900_000_000))
    before = quick.kept("points/*/*")
    done = quick.run()
    assert (done.returncode, "nothing to start" in done.stdout) == (0, True)
    assert quick.kept("points/*/*") == before
    assert quick.json("run.json")["finished_at"] == "2030-03-17T17:46:40+00:00"
    fault_row(
        "the record of a finished run is gone",
        injected="run.json is removed, the points are there",
        outcome=told("every point is already measured: nothing to start"),
        kept="every point; the record is written anew",
    )


def test_after_ctrl_c_the_same_command_goes_on(
    quick: Any, processes: Processes, eventually: Eventually, fault_row: FaultRow
) -> None:
    quick.recipe(LONG_ANSWERS, benchmark=LONG_POINTS)
    sweep = start_snakemake(quick)
    eventually(lambda: quick.exists("points/c2/progress.json"))
    os.killpg(sweep.pid, signal.SIGINT)
    out, _ = sweep.communicate(timeout=120)
    assert sweep.returncode != 0, out
    eventually(lambda: not processes(quick.project.root))
    assert quick.json("failure.json")["message"].startswith("stopped by SIGINT")
    before = quick.kept("points/c1/*")
    again = quick.snakemake()
    assert again.returncode == 0, again.stdout
    assert quick.kept("points/c1/*") == before
    fault_row(
        "Ctrl-C on one machine",
        injected="SIGINT to `snakemake` and all that it started",
        outcome=f"{told('stopped by SIGINT')}; nothing is left running",
        kept="the finished point; the same command measures the other",
    )


def test_a_sweep_whose_output_nobody_reads_comes_to_its_end(quick: Any, fault_row: FaultRow) -> None:
    sweep = start_snakemake(quick)
    assert any("rule run:" in line for line in iter(sweep.stdout.readline, ""))
    sweep.stdout.close()
    assert sweep.wait(timeout=120) == 0
    assert quick.exists("run.json")
    assert "quick" in (quick.project.root / "results/summary.csv").read_text()
    fault_row(
        "what reads the output of `snakemake` ends, as `head`",
        injected="the pipe that it writes to is closed as its first run begins",
        outcome="the sweep goes on in silence",
        kept="everything",
    )


def test_an_interrupted_controller_says_that_the_run_in_progress_goes_on(
    quick: Any, eventually: Eventually
) -> None:
    sweep = start_snakemake(quick, "-q", "all")
    eventually(lambda: quick.exists("allocation.json"))
    os.kill(sweep.pid, signal.SIGINT)
    out, _ = sweep.communicate(timeout=120)
    assert sweep.returncode != 0, out
    assert (
        "Interrupted: no further run begins, and one that got no signal itself comes to its end first;"
        " the same command goes on later.\n" in out
    )
    assert "every point is valid" in out
    assert quick.snakemake().returncode == 0


def test_after_kill_9_of_the_controller_the_same_command_finishes(
    quick: Any, processes: Processes, eventually: Eventually, fault_row: FaultRow
) -> None:
    quick.recipe(LONG_ANSWERS, benchmark=LONG_POINTS | {"concurrencies": "2x1"})
    sweep = start_snakemake(quick)
    eventually(lambda: quick.exists("points/c1/progress.json"))

    # The point lasts as long as its engine stands still.
    (engine,) = processes(quick.project.root, "servesweep.simulator")
    os.kill(engine, signal.SIGSTOP)
    # While it lives its lock is its own, also after a report was made beside it.
    assert quick.snakemake("report").returncode == 0
    second = quick.snakemake()
    assert (second.returncode, "LockException" in second.stdout) == (1, True), second.stdout
    assert "An earlier controller was killed" not in second.stdout

    sweep.kill()
    sweep.wait()
    assert processes(quick.project.root, "servesweep run ")
    before = quick.kept("points/c2/*")
    again = start_snakemake(quick)
    eventually(lambda: quick.exists("failure.json"))  # the earlier run was told to end
    os.kill(engine, signal.SIGCONT)
    out, _ = again.communicate(timeout=120)
    assert again.returncode == 0, out
    assert "An earlier controller was killed: its lock is removed" in out
    assert "of an earlier controller still runs quick: ending it" in out
    assert quick.kept("points/c2/*") == before
    assert quick.json("points/c1/result.json")["valid"] is True
    fault_row(
        "`snakemake` is killed on one machine",
        injected="SIGKILL to the controlling process in the middle of a point",
        outcome="the same command removes the lock, ends the earlier run and finishes",
        kept="the finished point",
    )
    fault_row(
        "two `snakemake` in one directory",
        injected="the same command while the first one works",
        outcome=told("LockException"),
        kept="everything; the first goes on",
    )


def test_a_killed_supervisor_leaves_nothing_that_the_next_run_does_not_end(
    quick: Any, processes: Processes, eventually: Eventually, fault_row: FaultRow
) -> None:
    quick.recipe(LONG_ANSWERS, benchmark=LONG_POINTS)
    run = quick.start()
    eventually(lambda: quick.exists("points/c1/progress.json"))
    run.kill()
    run.communicate(timeout=60)
    # The kernel ends what the supervisor had started itself, the engine above all.
    eventually(lambda: not processes(quick.project.root, "servesweep.simulator"))
    done = quick.run()
    assert done.returncode == 0, done.stdout
    fault_row(
        "a supervisor is killed",
        injected="SIGKILL to `servesweep run` in the middle of a point",
        outcome="its engines end with it; the next run ends what else is left, and finishes",
        kept="finished points, logs",
    )
