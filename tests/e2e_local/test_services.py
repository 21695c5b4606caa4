"""Services with real processes: in which order, waited for how, and what the end of each one means."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long

Processes = Callable[..., dict[int, str]]
Eventually = Callable[[Callable[[], Any]], Any]
HTTP = ["python3", "-m", "http.server", "--bind", "127.0.0.1"]
# Ready after a moment, so that a service which is not waited for is noticed.
SLOWLY = "sleep 0.3; {}; exec sleep 600"
# Tells on its end when it was asked to end.
POLITE = "trap 'date +%s.%N; exit 0' TERM; echo up; sleep 600 & wait"
ENVIRONMENT = "env | grep -E '^SRT_(SERVICE|WORKER|GPUS)' | sort"


def recipe(quick: Any, *services: dict[str, Any], **sections: Any) -> None:
    """The quick recipe with services; a section that is None is left out."""
    quick.recipe()
    file = quick.project.root / "config/recipes/quick.yaml"
    data = {**json.loads(file.read_text()), "services": services, **sections}
    file.write_text(json.dumps({key: value for key, value in data.items() if value is not None}))


def alone(quick: Any, *services: dict[str, Any]) -> None:
    """A job of services and nothing else."""
    none = {"type": "none"}
    recipe(quick, *services, engine=None, roles=None, frontend=none, benchmark={"type": "manual"})


def shell(name: str, script: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "command": ["bash", "-c", script], **more}


def log(quick: Any, name: str) -> str:
    return (quick.project.root / "results/quick/logs" / name).read_text()  # type: ignore[no-any-return]


def told(output: str) -> list[str]:
    """What was started and what was ready, in the order in which it was said."""
    lines = [line.split(": ", 1)[-1].removesuffix(" on n0") for line in output.splitlines()]
    ends = (" is ready", "gate is open")
    return [
        line
        for line in lines
        if (line.startswith("started ") or line.endswith(ends)) and not line.startswith("agg_0")
    ]


def test_all_ways_of_asking_in_the_order_of_the_phases(quick: Any) -> None:
    recipe(
        quick,
        {"name": "late", "command": [*HTTP, "9705"], "readiness": {"tcp": {"port": 9705}}},
        shell("beside", SLOWLY.format("echo serving on 12"), start="with_workers",
              readiness={"log": {"pattern": r"^serving on \d+$"}}),
        shell("first", SLOWLY.format("echo yes > $PLACE"), start="infra",
              env={"PLACE": "{node}-{index}.ready"}, preamble=f"cd {quick.project.root}",
              readiness={"file": {"path": f"{quick.project.root}/{{node}}-{{index}}.ready"}}),
        {"name": "by-port", "command": [*HTTP, "9702"], "start": "before_workers",
         "readiness": {"port": 9702}},
        {"name": "by-http", "command": [*HTTP, "9703", "--directory", str(quick.project.root)],
         "start": "before_workers", "readiness": {"http": {"port": 9703, "path": "/no", "status": 404}}},
    )  # fmt: skip
    done = quick.run()
    assert done.returncode == 0, done.stdout
    assert told(done.stdout) == [
        "started first", "first is ready",
        "started by-port", "by-port is ready", "started by-http", "by-http is ready",
        "started beside", "started agg_0", "beside is ready",
        "the health gate is open", "started late", "late is ready",
    ]  # fmt: skip
    assert quick.json("run.json")["points"] == ["c1", "c2"]
    assert log(quick, "service_beside.out") == "serving on 12\n"


def test_the_client_is_told_where_they_are(quick: Any) -> None:
    recipe(
        quick,
        shell("cache-1", "exec sleep 600"),
        shell("side", "echo {worker_role} {worker_index} {worker_gpus} $CUDA_VISIBLE_DEVICES; exec sleep 600",
              placement={"node": "workers", "per": "worker"}, readiness={"log": {"pattern": "agg"}}),
        benchmark={"type": "custom", "command": ENVIRONMENT},
    )  # fmt: skip
    done = quick.run()
    assert done.returncode == 0, done.stdout
    assert "SRT_SERVICE_CACHE_1_NODES=n0" in log(quick, "benchmark_custom.log")
    assert [line for line in log(quick, "benchmark_custom.log").splitlines() if line.startswith("SRT_")] == [
        "SRT_GPUS_PER_NODE=2",
        "SRT_SERVICE_CACHE_1_IPS=127.0.0.1",
        "SRT_SERVICE_CACHE_1_NODES=n0",
        "SRT_SERVICE_CACHE_1_NODE_COUNT=1",
        "SRT_SERVICE_SIDE_IPS=127.0.0.1",
        "SRT_SERVICE_SIDE_NODES=n0",
        "SRT_SERVICE_SIDE_NODE_COUNT=1",
        "SRT_WORKER_NODES=n0",
    ]
    assert log(quick, "service_side_agg_0_n0.out") == "agg 0 0 0\n"


@pytest.mark.parametrize("start", ["before_workers", "after_frontend"])
def test_one_that_is_not_ready_in_time_ends_the_run_and_says_what_was_asked(quick: Any, start: str) -> None:
    late = {"port": 9799, "timeout_seconds": 1}
    recipe(quick, shell("cache", "echo loading; exec sleep 600", start=start, readiness=late))
    done = quick.run()
    failure = quick.json("failure.json")
    assert done.returncode == 1
    assert failure["message"] == (
        "service cache on n0 was not ready after 1 s: TCP port 9799 of 127.0.0.1 does not accept;"
        " its log is logs/service_cache.out"
    )
    assert (failure["stage"], failure["step"], failure["tail"]) == ("services", "cache", ["loading"])
    assert not quick.exists("points/c1/result.json")


def test_a_port_that_another_process_has_is_not_taken_for_the_service_s(quick: Any) -> None:
    recipe(
        quick,
        shell("a", f"exec {' '.join(HTTP)} 9704", start="infra", readiness={"log": {"pattern": "Serving"}}),
        shell("b", "exec sleep 600", start="before_workers", readiness={"port": 9704}),
    )
    done = quick.run()
    assert done.returncode == 1
    assert quick.json("failure.json")["message"] == (
        "b could not be started on n0: another process already listens on port 9704"
    )


@pytest.mark.parametrize(("critical", "code"), [(True, 3), (False, 3), (True, 0)])
def test_what_the_end_of_a_service_means(quick: Any, critical: bool, code: int) -> None:
    """Only the failure of a critical one ends the run; a clean end is none."""
    script = f"until [ -e points/c1/result.json ]; do sleep 0.05; done; echo bye; exit {code}"
    script = script.replace("points", f"{quick.project.root}/results/quick/points")
    load = {"type": "sa-bench", "isl": 8, "osl": 64, "concurrencies": "1x2", "num_prompts_mult": 16,
            "num_warmup_mult": 0}  # fmt: skip
    recipe(quick, shell("helper", script, critical=critical), benchmark=load)
    done = quick.run()
    if critical and code:
        failure = quick.json("failure.json")
        assert done.returncode == 1
        assert failure["message"] == "service helper on n0 exited with code 3"
        assert (failure["stage"], failure["exit_code"], failure["tail"]) == ("benchmark", 3, ["bye"])
        assert not quick.exists("run.json")
    else:
        assert done.returncode == 0, done.stdout
        assert f"service helper on n0 exited with code {code}" in done.stdout
        assert quick.json("run.json")["points"] == ["c1", "c2"]


def test_a_critical_one_that_is_killed_is_named(
    quick: Any, processes: Processes, eventually: Eventually
) -> None:
    alone(quick, shell("pool", "exec sleep 599", nodes=1, critical=True))
    run = quick.start()
    (pid,) = eventually(lambda: processes(quick.project.root, "sleep 599"))
    os.kill(pid, signal.SIGKILL)
    out, _ = run.communicate(timeout=60)
    assert run.returncode == 1, out
    assert quick.json("failure.json")["message"] == "service pool on n0 was ended by SIGKILL"


def test_a_job_of_services_ends_with_its_terminal_ones(quick: Any) -> None:
    where = quick.project.root / "trained"
    alone(
        quick,
        shell("train", f"echo {{index}} of {{pool_node_count}} >> {where}.{{index}}; sleep 0.{{index}}5",
              nodes=2, terminal=True),
        shell("evaluate", "sleep 1", terminal=True),
        shell("watch", "exec sleep 600", placement={"pool": "train"}),
    )  # fmt: skip
    done = quick.run()
    assert done.returncode == 0, done.stdout
    assert "every terminal service has ended well" in done.stdout
    assert [Path(f"{where}.{index}").read_text() for index in (0, 1)] == ["0 of 2\n", "1 of 2\n"]
    assert quick.json("run.json")["points"] == ["manual"]
    assert quick.exists("logs/service_watch_n1.out")


def test_the_worst_exit_code_is_the_job_s(quick: Any) -> None:
    alone(
        quick,
        shell("train", "echo rank {index}; sleep 0.{index}; exit $(( 4 * {index} ))", nodes=2, terminal=True),
        shell("evaluate", "sleep 1; exit 2", terminal=True),
    )
    done = quick.run()
    failure = quick.json("failure.json")
    assert done.returncode == 4, done.stdout
    assert failure["message"] == "service train_n1 on n1 exited with code 4"
    assert failure["tail"] == ["rank 1"]
    assert not quick.exists("run.json")


def test_services_end_in_the_reverse_order_of_their_start(quick: Any) -> None:
    ready = {"log": {"pattern": "up"}}
    phases = ("infra", "before_workers", "after_frontend")
    names = dict(zip(phases, ("plane", "cache", "exporter"), strict=True))
    recipe(quick, *(shell(names[start], POLITE, start=start, readiness=ready) for start in phases))
    done = quick.run()
    assert done.returncode == 0, done.stdout
    ended = {name: float(log(quick, f"service_{name}.out").split()[-1]) for name in names.values()}
    assert sorted(ended, key=ended.__getitem__) == ["exporter", "cache", "plane"]
