"""`servesweep status` beside a real run, and what the run tells of the CPUs it has."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

from servesweep.status.look import Looker

Eventually = Callable[[Callable[[], Any]], Any]
# A point of several seconds, long enough to be looked at.
LONG = {"ttft-ms": 5, "itl-ms": 60}
LONG_POINTS = {"osl": 32, "random_range_ratio": 1.0, "concurrencies": "2", "num_prompts_mult": 4}


def told(quick: Any) -> dict[str, Any]:
    """The line of the one configuration, without the start of a program each time."""
    looker = Looker(quick.project.root / "results")
    looker.ask_slurm()
    return looker.configuration("quick").model_dump()


def test_a_run_is_followed_to_its_end(quick: Any, eventually: Eventually) -> None:
    quick.recipe({**LONG, "startup-s": 4}, benchmark=LONG_POINTS)
    quick.validate()
    assert told(quick)["stage"] == "planned"
    process = quick.start()
    waiting = eventually(lambda: (now := told(quick))["stage"] == "health_gate" and now)
    assert waiting["workers"] == {"agg": {"up": 0, "total": 1}}
    measured = eventually(lambda: (now := told(quick))["output_tok_s"] and now)
    assert measured["stage"] == "benchmark"
    assert measured["workers"] == {"agg": {"up": 1, "total": 1}}
    assert measured["points"] == {"valid": 0, "invalid": 0, "total": 1, "current": "c2"}
    assert measured["holds_gpus"]
    assert measured["slurm_state"] is None
    assert process.wait(120) == 0
    finished = told(quick)
    assert (finished["stage"], finished["points"]["valid"], finished["holds_gpus"]) == ("finished", 1, False)


def test_a_killed_run_is_lost(quick: Any, eventually: Eventually) -> None:
    quick.recipe(LONG, benchmark=LONG_POINTS)
    process = quick.start()
    eventually(lambda: told(quick)["stage"] == "benchmark")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert told(quick)["stage"] == "lost"
    # The next run takes over.
    assert quick.run().returncode == 0
    assert told(quick)["stage"] == "finished"


def test_a_failed_run_is_told_with_its_first_cause(quick: Any) -> None:
    quick.recipe({"fault": "never-healthy"}, health_check={"max_attempts": 10})
    assert quick.run().returncode == 1
    now = told(quick)
    assert now["stage"] == "failed"
    assert now["failure"] == quick.json("failure.json")["message"]
    assert now["failure"] in quick.project.servesweep("status", "--once").stdout
    first = quick.project.servesweep("status", "--json").stdout.splitlines()[0]
    assert json.loads(first) == now


def test_too_few_cpus_are_told_before_anything_starts_and_kept_in_every_place(quick: Any) -> None:
    cpus = len(os.sched_getaffinity(0))
    # More GPUs than this machine has CPUs, and not virtual ones.
    many = cpus + 2
    quick.recipe(
        resources={"gpus_per_node": many, "gpu_type": "h100"},
        roles={"agg": {"nodes": 1, "workers": 1, "gpus": many, "args": {"ttft-ms": 3, "itl-ms": 1}}},
    )
    done = quick.run()
    assert done.returncode == 0, done.stdout
    sentence = f"{cpus} CPU{'s' * (cpus > 1)} for the {many} GPUs that workers hold on "
    told_lines = done.stdout.splitlines()
    warning = next(line for line in told_lines if "CPU ALLOCATION WARNING: " in line)
    assert sentence in warning
    assert told_lines.index(warning) < told_lines.index(
        next(line for line in told_lines if "started" in line)
    )
    assert any(f"affinity of the process: {cpus} (" in line for line in told_lines)
    check = quick.json("logs/resource_snapshot.json")["cpu_check"]
    assert (check["status"], check["available_cpu_source"]) == ("warning", "process_affinity")
    lock = quick.project.servesweep("lockfile", "results/quick")
    assert lock.returncode == 0, lock.stdout
    text = (quick.project.root / "results/quick/recipe.lock.yaml").read_text()
    assert "resource_snapshot:" in text
    assert "status: warning" in text
    assert "agg_w0:" in text
    now = told(quick)
    assert (now["cpus"]["status"], now["cpus"]["minimum"]) == ("warning", many)
    printed = quick.json("logs/fingerprint_agg_w0.json")
    assert printed["cpu"]["affinity_list"] == sorted(os.sched_getaffinity(0))
    assert printed["gpu"]["assigned"] == list(range(many))


def test_virtual_gpus_ask_for_no_cpu(quick: Any) -> None:
    done = quick.run()
    assert "CPU ALLOCATION WARNING" not in done.stdout
    assert quick.json("logs/resource_snapshot.json")["cpu_check"]["status"] == "unknown"
