"""Workers that die are started again in place: real processes, real routers, on one machine."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e_local.conftest import Quick

pytestmark = pytest.mark.long

Processes = Callable[..., dict[int, str]]
Eventually = Callable[[Callable[[], Any]], Any]
ROUTED = {"type": "sglang-router", "args": {"policy": "round_robin"}}
FAST = {"ttft-ms": 3, "itl-ms": 1}
# Both kinds of policy in one run: decode is used up, prefill is waited for.
BOTH = {
    "prefill": {
        **{"nodes": 1, "workers": 1, "gpus": 1, "args": FAST},
        "restart": {"policy": "always", "backoff_seconds": 2, "max_backoff_seconds": 100},
    },
    "decode": {
        **{"nodes": 1, "workers": 3, "gpus": 1, "args": FAST, "critical": False},
        "restart": {"policy": "on-failure", "max_restarts": 1, "backoff_seconds": 0.5},
    },
}


@pytest.fixture(scope="module")
def router(require: Any) -> None:
    there = importlib.util.find_spec("sglang_router") is not None
    require("sglang-router", there, "uv pip install -e '.[sglang-router]'")


def events(quick: Any, worker: str = "") -> list[dict[str, Any]]:
    path = quick.project.root / "results/quick/logs/worker_restarts.json"
    found = quick.json("logs/worker_restarts.json")["events"] if path.exists() else []
    return [event for event in found if event["worker"].startswith(worker)]


def outcomes(quick: Any, worker: str = "") -> list[str]:
    return [event["outcome"] for event in events(quick, worker)]


def gate_is_open(quick: Any) -> bool:
    return bool(quick.exists("health.json"))


def url(quick: Any, worker: str) -> str:
    steps = {step["name"]: step for step in quick.json("deployment.json")["steps"]}
    return f"http://127.0.0.1:{steps[worker]['probe']['port']}"


def kill(processes: Processes, quick: Any, worker: str, number: int = signal.SIGKILL) -> None:
    """Signal a worker's process."""
    found = processes(quick.project.root, f"--port {url(quick, worker).rpartition(':')[2]} ")
    os.kill(max(pid for pid, line in found.items() if "sglang_router" not in line), number)


def stopped(run: subprocess.Popen[str]) -> str:
    run.send_signal(signal.SIGINT)
    return run.communicate(timeout=60)[0]


def lock(quick: Any) -> dict[str, Any]:
    text = (quick.project.root / "results/quick/recipe.lock.yaml").read_text()
    found: dict[str, Any] = yaml.safe_load(text)["lock"]
    return found


@dataclass
class Lives:
    """A run whose workers died, one after the other, until it was stopped."""

    quick: Any
    said: str
    served_by_the_second_life: int
    survivor: int


@pytest.fixture(scope="module")
def lives(
    router: None, new_project: Callable[[str], Any], processes: Processes, eventually: Eventually
) -> Iterator[Lives]:
    quick = Quick(new_project("lives"))
    quick.recipe(resources={"gpus_per_node": 8}, roles=BOTH, frontend=ROUTED, benchmark={"type": "manual"})
    recipe = quick.project.root / "config/recipes/quick.yaml"
    data = json.loads(recipe.read_text())
    del data["roles"]["agg"]
    recipe.write_text(json.dumps(data))
    run = quick.start()
    try:
        eventually(lambda: gate_is_open(quick))
        kill(processes, quick, "decode_0")
        # A simulator ends well on SIGTERM.
        kill(processes, quick, "decode_1", signal.SIGTERM)
        kill(processes, quick, "prefill_0", signal.SIGTERM)
        eventually(lambda: outcomes(quick, "decode_0") == outcomes(quick, "prefill_0") == ["ready"])
        eventually(lambda: ask("http://127.0.0.1:8000") and answered(url(quick, "decode_0")))
        served = answered(url(quick, "decode_0"))
        kill(processes, quick, "decode_0")
        eventually(lambda: outcomes(quick, "decode_0") == ["ready", "exhausted"])
        survivor = urllib.request.urlopen(f"{url(quick, 'decode_2')}/health", timeout=10).status
        kill(processes, quick, "prefill_0")
        eventually(lambda: outcomes(quick, "prefill_0") == ["ready", "scheduled"])
        assert run.poll() is None
        yield Lives(quick, stopped(run), served, survivor)
    finally:
        if run.poll() is None:
            stopped(run)
    assert not processes(quick.project.root)


def test_a_killed_worker_is_started_again_in_place_and_recorded(lives: Lives) -> None:
    event, last = events(lives.quick, "decode_0")
    fixed = {
        "worker": "decode_0", "mode": "decode", "index": 0, "node": "n1", "attempt": 1, "exit_code": 137,
        "outcome": "ready", "backoff_seconds": 0.5, "crash_log": "logs/n1_decode_w0.out.1", "engine": 0,
    }  # fmt: skip
    assert {key: event[key] for key in fixed} == fixed
    assert event["exited_at"] < event["relaunched_at"] < event["ready_at"]
    assert event["ready_seconds"] > 0
    assert (last["attempt"], last["backoff_seconds"], last["relaunched_at"]) == (2, None, None)


def test_the_story_tells_it(lives: Lives) -> None:
    for line in (
        "worker decode_0 on n1 was ended by SIGKILL: starting decode_0 again in 0.5 s (restart 1/1)",
        "started decode_0 again as decode_0_n1_r1 (restart 1/1): waiting up to 60 s until it serves",
        "decode_0 serves again after",
        "decode_0: max_restarts=1 reached, giving up",
    ):
        assert line in lives.said


def test_a_static_router_sees_the_same_url_come_back(lives: Lives) -> None:
    assert lives.served_by_the_second_life > 0


def test_the_log_goes_on_under_its_name_and_the_first_life_s_is_kept(lives: Lives) -> None:
    logs = lives.quick.project.root / "results/quick/logs"
    names = sorted(path.name for path in logs.glob("*_w*.out*"))
    assert names == [
        "n0_prefill_w0.out", "n0_prefill_w0.out.1", "n1_decode_w0.out", "n1_decode_w0.out.1",
        "n1_decode_w1.out", "n1_decode_w2.out",
    ]  # fmt: skip
    for name in ("n1_decode_w0.out", "n1_decode_w0.out.1"):
        assert (logs / name).read_text().count("simulator listening") == 1


def test_a_clean_exit_is_none_for_on_failure_and_one_for_always(lives: Lives) -> None:
    assert events(lives.quick, "decode_1") == []
    assert "worker decode_1 on n1 exited with code 0" in lives.said
    first = events(lives.quick, "prefill_0")[0]
    assert (first["exit_code"], first["outcome"]) == (0, "ready")


def test_a_spent_budget_of_a_role_that_is_not_critical_lets_the_others_serve(lives: Lives) -> None:
    assert lives.survivor == 200
    assert lives.quick.json("failure.json")["message"].startswith("stopped by SIGINT")


def test_a_run_that_is_stopped_during_the_delay_starts_nothing_any_more(lives: Lives) -> None:
    event = events(lives.quick, "prefill_0")[1]
    # The second delay is twice the first.
    assert (event["outcome"], event["backoff_seconds"], event["relaunched_at"]) == ("stopped", 4, None)


def test_record_and_lockfile_tell_all_of_it(lives: Lives) -> None:
    record = lives.quick.json("logs/worker_restarts.json")
    used = {"policy": "on-failure", "max_restarts": 1, "restarts": 0, "exhausted": False}
    assert record["endpoints"] == {
        "prefill_0": {"policy": "always", "restarts": 1, "max_restarts": 3, "exhausted": False},
        "decode_0": {**used, "restarts": 1, "exhausted": True},
        "decode_1": used,
        "decode_2": used,
    }
    assert record["total_restarts"] == 2
    assert lock(lives.quick)["worker_restarts"] == record


def test_a_worker_that_crashes_at_every_start_uses_its_budget_up_and_ends_the_run(quick: Any) -> None:
    args = {"fault": "crash-at-start:7"}
    restart = {"policy": "on-failure", "max_restarts": 2, "backoff_seconds": 0.2}
    quick.recipe(roles={"agg": {"nodes": 1, "workers": 1, "gpus": 1, "args": args, "restart": restart}})
    done = quick.run()
    assert done.returncode == 1, done.stdout
    failure = quick.json("failure.json")
    assert failure["message"] == "worker agg_0 on n0 exited with code 7"
    assert (failure["exit_code"], failure["log"]) == (7, "logs/n0_agg_w0.out")
    record = quick.json("logs/worker_restarts.json")
    assert [
        (event["attempt"], event["outcome"], event["exit_code"], event["backoff_seconds"], event["crash_log"])
        for event in record["events"]
    ] == [
        (1, "not_ready", 7, 0.2, "logs/n0_agg_w0.out.1"),
        (2, "not_ready", 7, 0.4, "logs/n0_agg_w0.out.2"),
        (3, "exhausted", 7, None, None),
    ]
    assert record["endpoints"]["agg_0"] == {
        "policy": "on-failure", "restarts": 2, "max_restarts": 2, "exhausted": True,
    }  # fmt: skip
    assert "agg_0: max_restarts=2 reached, giving up" in done.stdout
    names = ["n0_agg_w0.out", "n0_agg_w0.out.1", "n0_agg_w0.out.2"]
    assert quick.project.files("quick/logs/n0_agg_w0.out*") == [f"quick/logs/{name}" for name in names]


def test_a_point_measured_across_a_restart_says_so(
    quick: Any, router: None, processes: Processes, eventually: Eventually
) -> None:
    """Its failed requests decide whether it counts: a recipe that probes faults allows some."""
    again = {"policy": "on-failure", "backoff_seconds": 0.5}
    args = {"ttft-ms": 5, "itl-ms": 20}
    quick.recipe(
        roles={"agg": {"nodes": 1, "workers": 2, "gpus": 1, "args": args, "restart": again}},
        frontend=ROUTED,
        benchmark={
            "osl": 20, "random_range_ratio": 1.0, "concurrencies": "4", "num_prompts_mult": 20,
            "max_failed_fraction": 0.9,
        },
    )  # fmt: skip
    run = quick.start()
    eventually(lambda: quick.exists("points/c4/progress.json") and done(quick) > 3)
    kill(processes, quick, "agg_0")
    out, _ = run.communicate(timeout=120)
    assert run.returncode == 0, out
    result = quick.json("points/c4/result.json")
    assert result["valid"] is True
    (note,) = [note for note in result["notes"] if note.startswith("A worker was away: ")]
    event = events(quick)[0]
    gone = f"A worker was away: agg_0 on n0 ended with code 137 at {event['exited_at']}"
    back = f" and served again at {event['ready_at']}."
    # The run may end before the next life serves.
    assert note == gone + (back if event["ready_at"] else " and did not serve again.")
    assert lock(quick)["results"]["c4"]["worker_restarts"] == 1
    assert lock(quick)["worker_restarts"]["events"] == [event]


def done(quick: Any) -> int:
    now = quick.json("points/c4/progress.json")
    return int(now.get("done") or 0) if now.get("phase") == "measure" else 0


def ask(base: str) -> bool:
    body = b'{"model": "tiny", "prompt": "a", "max_tokens": 2}'
    request = urllib.request.Request(f"{base}/v1/completions", body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def answered(base: str) -> int:
    with urllib.request.urlopen(f"{base}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    (line,) = [line for line in lines if line.startswith("simulator_requests_success_total")]
    return int(float(line.rpartition(" ")[2]))


def test_the_shipped_recipe_brings_a_killed_mocker_back_to_its_frontend(
    quick: Any, require: Any, processes: Processes, eventually: Eventually
) -> None:
    """Dynamo takes the next life for a new instance; that of the old one ends with its lease."""
    require("ai-dynamo", importlib.util.find_spec("dynamo") is not None, "uv pip install -e '.[dynamo]'")
    require("etcd", shutil.which("etcd") is not None, "apt-get install etcd-server")
    recipe = Path(__file__).parents[2] / "config/recipes/features/worker-restart.yaml"
    shutil.copy(recipe, quick.project.root / "config/recipes/quick.yaml")
    words = [
        *("--set", "roles.agg.restart.backoff_seconds=1"),
        *("--cluster", "config/local.yaml", "--results", "results"),
    ]
    said = quick.project.servesweep("validate", "config/recipes/quick.yaml", *words)
    assert said.returncode == 0, said.stdout
    run = subprocess.Popen(
        [sys.executable, "-m", "servesweep", "run", "results/quick", "--launcher", "local"],
        cwd=quick.project.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    eventually(lambda: gate_is_open(quick))
    before = instances()
    assert len(before) == 2
    os.kill(max(processes(quick.project.root, "dynamo.mocker")), signal.SIGKILL)
    eventually(lambda: outcomes(quick) == ["ready"])
    eventually(lambda: len(instances()) == 2 and instances() != before)
    stopped(run)
    assert quick.json("logs/worker_restarts.json")["total_restarts"] == 1


def instances() -> set[int]:
    """Ids of the workers that the frontend knows."""
    try:
        with urllib.request.urlopen("http://127.0.0.1:8000/health", timeout=10) as answer:
            health = json.loads(answer.read())
    except OSError:
        return set()
    return {one["instance_id"] for one in health.get("instances", []) if one.get("endpoint") == "generate"}
