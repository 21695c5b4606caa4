"""What fails says why, leaves its evidence, and leaves no process behind."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.faults import told

from servesweep.runtime.preloading import Preloaded
from servesweep.runtime.processes import MARK
from servesweep.runtime.run import run_configuration

pytestmark = pytest.mark.long

Processes = Callable[..., dict[int, str]]
Eventually = Callable[[Callable[[], Any]], Any]
FaultRow = Callable[..., None]
EVIDENCE = "logs of all processes, lockfile so far, failure.json"
# A point of several seconds, long enough to be hit in its middle.
LONG_ANSWERS = {"ttft-ms": 5, "itl-ms": 60}
LONG_POINTS = {"osl": 32, "random_range_ratio": 1.0, "concurrencies": "1x2", "num_prompts_mult": 1}


def signal_one(processes: dict[int, str], number: signal.Signals) -> str:
    """Signal the oldest of the processes and return its command line."""
    pid = min(processes)
    os.kill(pid, number)
    return processes[pid]


@pytest.mark.parametrize(
    ("fault", "row", "patience", "sentence"),
    [
        (
            "never-healthy",
            "a worker never becomes healthy",
            15,
            "not healthy after 1.5 s: 0 of 1 workers ready, missing agg_0",
        ),
        (
            "empty",
            "a server answers without tokens",
            15,
            "not healthy after 1.5 s: a real request to http://127.0.0.1:6100 was answered with no tokens",
        ),
        (
            "wrong-model:other",
            "another model than the recipe's is served",
            600,
            "the public API serves ['other'], and not tiny",
        ),
    ],
)
def test_the_health_gate_stays_shut(
    quick: Any, fault: str, row: str, patience: int, sentence: str, fault_row: FaultRow
) -> None:
    quick.recipe({"fault": fault}, health_check={"max_attempts": patience})
    done = quick.run()
    failure = quick.json("failure.json")
    assert done.returncode == 1
    assert (failure["stage"], failure["message"]) == ("health_gate", sentence)
    assert f"FAILED in stage health_gate: {sentence}" in done.stdout
    assert "Traceback" not in done.stdout
    assert not quick.exists("run.json")
    assert quick.exists("logs/n0_agg_w0.out")
    injected = f"the simulator's `--fault {fault}`"
    fault_row(row, injected=injected, outcome=told(sentence), kept=EVIDENCE)


def test_a_fatal_line_in_a_log_ends_the_waiting(quick: Any, fault_row: FaultRow) -> None:
    quick.recipe({"fault": ["never-healthy", "fatal-log:CUDA out of memory"]})
    assert quick.run().returncode == 1
    message = quick.json("failure.json")["message"]
    assert message.startswith("agg_0 printed a fatal line: ")
    assert "CUDA out of memory" in message
    fault_row(
        "an engine prints that it cannot go on, and stays",
        injected="a fatal line in its log while it never becomes healthy",
        outcome=told(message),
        kept=EVIDENCE,
    )


def test_a_worker_that_crashes_at_its_start_fails_at_once(quick: Any, fault_row: FaultRow) -> None:
    quick.recipe({"fault": "crash-at-start:7"}, health_check={"max_attempts": 10_000})
    done = quick.run()
    failure = quick.json("failure.json")
    assert done.returncode == 1
    assert failure["message"] == "worker agg_0 on n0 exited with code 7"
    assert (failure["exit_code"], failure["log"]) == (7, "logs/n0_agg_w0.out")
    assert failure["tail"] == ["simulator: told to crash at start."]
    assert "  | simulator: told to crash at start." in done.stdout
    fault_row(
        "a worker crashes at its start",
        injected="the simulator's `--fault crash-at-start:7`",
        outcome=told(failure["message"]),
        kept=f"{EVIDENCE} with its last lines",
    )


def test_a_point_that_hangs_is_not_complete_and_says_so(quick: Any, fault_row: FaultRow) -> None:
    # One request of the gate and two of the first point are answered, then every one hangs.
    quick.recipe({"fault": "hang-after:3"}, benchmark={"request_timeout_s": 1.0})
    done = quick.run()
    assert done.returncode == 1
    assert quick.json("points/c1/result.json")["valid"] is True
    assert not quick.exists("points/c2/result.json")
    assert quick.json("points/c2/invalid.json")["reasons"]
    failure = quick.json("failure.json")
    assert failure["stage"] == "benchmark"
    assert failure["message"].startswith("1 of 2 points not valid: c2 (")
    assert failure["log"] == "logs/benchmark_c2.log"
    fault_row(
        "a server hangs in the middle of a sweep",
        injected="after three answers the simulator gives none any more",
        outcome=told(failure["message"].partition(" (")[0]),
        kept="the finished point; the other as invalid.json with its reasons",
    )


def test_a_killed_worker_ends_the_run(
    quick: Any, processes: Processes, eventually: Eventually, fault_row: FaultRow
) -> None:
    quick.recipe(LONG_ANSWERS, benchmark=LONG_POINTS)
    run = quick.start()
    eventually(lambda: quick.exists("points/c1/progress.json"))
    killed = time.time()
    signal_one(processes(quick.project.root, "servesweep.simulator"), signal.SIGKILL)
    out, _ = run.communicate(timeout=60)
    ended = time.time()
    failure = quick.json("failure.json")
    assert run.returncode == 1, out
    assert failure["message"] == "worker agg_0 on n0 was ended by SIGKILL"
    assert (failure["stage"], failure["signal"]) == ("benchmark", "SIGKILL")
    assert failure["log"] == "logs/n0_agg_w0.out"
    assert not quick.exists("run.json")
    noticed = (quick.project.root / "results/quick/failure.json").stat().st_mtime - killed
    # The goal is 3 s, and the page tells what it was; this bound holds on the busiest machine.
    assert noticed < 30
    fault_row(
        "a worker is killed",
        injected="SIGKILL to the engine in the middle of a point",
        outcome=f"{told(failure['message'])}; the run ended {ended - killed:.1f} s after the signal",
        kept=EVIDENCE,
        noticed=noticed,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_keeps_its_evidence(
    quick: Any, eventually: Eventually, number: signal.Signals, fault_row: FaultRow
) -> None:
    quick.recipe(LONG_ANSWERS, benchmark=LONG_POINTS)
    run = quick.start()
    eventually(lambda: quick.exists("points/c1/progress.json"))
    run.send_signal(number)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 1, out
    assert quick.json("failure.json")["message"].startswith(f"stopped by {number.name}")
    assert quick.exists("recipe.lock.yaml")
    assert quick.exists("logs/allocation.log")
    assert not quick.exists("run.json")
    rows = {
        signal.SIGTERM: "a run is asked to end (SIGTERM)",
        signal.SIGINT: "a run is interrupted (SIGINT)",
    }
    message = told(quick.json("failure.json")["message"])
    fault_row(rows[number], injected=f"{number.name} to `servesweep run`", outcome=message, kept=EVIDENCE)


def test_a_run_stopped_while_it_starts_keeps_its_evidence(
    quick: Any, eventually: Eventually, fault_row: FaultRow
) -> None:
    quick.recipe({"fault": "never-healthy"})
    run = quick.start()
    eventually(lambda: quick.exists("logs/n0_agg_w0.out"))
    run.send_signal(signal.SIGTERM)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 1, out
    assert quick.json("failure.json")["message"].startswith("stopped by SIGTERM")
    fault_row(
        "a run is asked to end while it starts",
        injected="SIGTERM while no worker is healthy yet",
        outcome=told(quick.json("failure.json")["message"]),
        kept=EVIDENCE,
    )


def test_a_port_that_is_taken_is_told_and_not_measured(quick: Any, fault_row: FaultRow) -> None:
    with socket.create_server(("127.0.0.1", 6100)):
        done = quick.run()
    assert done.returncode == 1
    message = quick.json("failure.json")["message"]
    assert message == "agg_0 could not be started on n0: another process already listens on port 6100"
    fault_row(
        "a worker's port is taken",
        injected="another process listens on it",
        outcome=f"{told(message)}; the stranger is not measured",
        kept=EVIDENCE,
    )


def test_what_cannot_be_written_is_one_sentence(quick: Any, fault_row: FaultRow) -> None:
    quick.validate()
    (quick.project.root / "results/quick/deployment.json").mkdir()
    done = quick.run()
    assert done.returncode == 1
    assert quick.json("failure.json")["message"].endswith("deployment.json: Is a directory")
    assert "Traceback" not in done.stdout
    fault_row(
        "a file of the run cannot be written",
        injected="a directory stands in the place of deployment.json",
        outcome=told(quick.json("failure.json")["message"]),
        kept="failure.json",
    )


def test_an_internal_error_is_one_sentence_and_its_traceback_is_in_a_log(
    quick: Any, monkeypatch: pytest.MonkeyPatch, fault_row: FaultRow
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a bug")

    quick.validate()
    monkeypatch.chdir(quick.project.root)
    monkeypatch.setenv(MARK, "")  # the run sets it: here it is to be undone
    monkeypatch.setattr("servesweep.runtime.run.record_resources", broken)
    said: list[str] = []
    with Preloaded() as snakemake:
        assert run_configuration(Path("results/quick"), "local", said.append, snakemake) == 1
    assert "FAILED in stage allocation: internal error: ValueError: a bug" in said
    assert quick.json("failure.json")["log"] == "logs/internal_error.log"
    assert "Traceback" in (quick.project.root / "results/quick/logs/internal_error.log").read_text()
    fault_row(
        "servesweep itself has a bug",
        injected="a function of the run raises ValueError",
        outcome=told("FAILED in stage allocation: internal error: ValueError: a bug"),
        kept="the traceback in logs/internal_error.log",
    )


def test_a_plan_that_is_missing_is_one_sentence(quick: Any, fault_row: FaultRow) -> None:
    (quick.project.root / "results/quick").mkdir(parents=True)
    done = quick.project.servesweep("run", "results/quick", "--launcher", "local")
    assert (done.returncode, done.stdout.count("\n")) == (1, 1)
    assert "no such plan" in done.stdout
    fault_row(
        "a plan is missing",
        injected="`servesweep run` in an empty directory",
        outcome=told("no such plan"),
        kept="everything",
    )


def test_the_logs_of_every_attempt_are_kept(quick: Any) -> None:
    quick.recipe({"fault": "crash-at-start"})
    for _ in range(3):
        quick.run()
    assert quick.project.files("quick/logs*/n0_agg_w0.out") == [
        "quick/logs.1/n0_agg_w0.out",
        "quick/logs.2/n0_agg_w0.out",
        "quick/logs/n0_agg_w0.out",
    ]


def test_a_quiet_sweep_tells_a_note_and_a_failure_once(quick: Any) -> None:
    quick.recipe({"fault": "wrong-model:other"}, output={"log_dir": "elsewhere"})
    done = quick.snakemake("-q", "all")
    assert done.returncode == 1
    assert done.stdout.count("output.log_dir has no effect") == 1
    assert done.stdout.count("1 configuration is valid\n") == 1
    assert done.stdout.count("FAILED in stage health_gate") == 1
    assert "CalledProcessError" not in done.stdout
