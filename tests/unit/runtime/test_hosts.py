"""What is done on the bare nodes, with real shells on this one machine."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from servesweep.evidence.files import RunFiles
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.cluster import Cluster
from servesweep.runtime.allocation import find_allocation
from servesweep.runtime.hosts import Hosts
from servesweep.runtime.launchers import launcher_of
from servesweep.runtime.services import NotReadyError

TEXT = """
schema: 2
name: demo
model: {path: tiny, precision: fp8%s}
engine: simulator
roles: {agg: {nodes: 2, workers: 2, gpus: 8}}
frontend: {type: sglang-router}
environment: {GREETING: hello there}
"""


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Hosts]:
    """Hosts of a recipe with further keys; `said` collects what they say."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights/tokenizer.json").write_text("{}")
    (tmp_path / "results/demo/logs").mkdir(parents=True)

    def make(more: str, model: str = "", said: list[str] | None = None) -> Hosts:
        Path("demo.yaml").write_text(TEXT % model + more)
        cluster = Cluster.model_validate({"launcher": "local", "model_paths": {"tiny": "weights"}})
        ((_, plan),) = read_recipe_file(RecipeFile("demo.yaml"), cluster, Path())
        launcher = launcher_of(find_allocation("local", [node.name for node in plan.nodes]))
        say: Any = (said if said is not None else []).append
        return Hosts(plan, RunFiles(tmp_path / "results/demo"), launcher, say)

    return make


def log(what: str) -> str:
    return Path(f"results/demo/logs/{what}_n0.out").read_text()


def test_commands_share_a_shell_and_the_recipe_s_environment(hosts: Callable[..., Hosts]) -> None:
    found = hosts("host_setup: {commands: [cd results, 'X=1', 'echo $GREETING $X $(basename $PWD)']}\n")
    asyncio.run(found.prepare())
    assert log("host_setup") == "hello there 1 results\n"


def test_a_failure_names_node_code_and_log(hosts: Callable[..., Hosts]) -> None:
    found = hosts("host_setup: {commands: [echo one, exit 4, echo two]}\n")
    with pytest.raises(NotReadyError) as caught:
        asyncio.run(found.prepare())
    failure = caught.value.failure
    assert failure.message == "host_setup on n0 exited with code 4"
    assert (failure.node, failure.exit_code, failure.log) == ("n0", 4, "logs/host_setup_n0.out")
    assert failure.tail == ("one",)


def test_an_ignored_failure_is_said_and_the_next_command_runs(hosts: Callable[..., Hosts]) -> None:
    said: list[str] = []
    asyncio.run(
        hosts(
            "host_setup: {ignore_failure: true, commands: ['false', echo two, 'false']}\n", said=said
        ).prepare()
    )
    assert log("host_setup") == "two\n"
    assert said == ["host_setup on n0 exited with code 1: ignored"]


def test_out_of_time_the_command_and_its_children_are_ended(hosts: Callable[..., Hosts]) -> None:
    mark = f"sleep 61.{time.monotonic_ns() % 100000}"
    found = hosts(f"host_setup: {{timeout_seconds: 0.5, commands: ['{mark} & wait']}}\n")
    with pytest.raises(NotReadyError, match=r"host_setup on n0 took longer than 0\.5 s"):
        asyncio.run(found.prepare())
    assert mark not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


def test_the_teardown_runs_in_any_case_and_fails_nothing(hosts: Callable[..., Hosts]) -> None:
    said: list[str] = []
    found = hosts("host_setup: {commands: ['false'], teardown: [echo bye, exit 9]}\n", said=said)

    async def run() -> None:
        await found.leave()  # nothing was touched yet
        assert not Path("results/demo/logs/host_teardown_n0.out").exists()
        with pytest.raises(NotReadyError):
            await found.prepare()
        await found.leave()

    asyncio.run(run())
    assert log("host_teardown") == "bye\n"
    assert said == ["host_teardown on n0 exited with code 9"]


def test_the_model_is_copied_to_the_node_s_disk(hosts: Callable[..., Hosts], tmp_path: Path) -> None:
    asyncio.run(hosts("", model=f", stage_dir: {tmp_path}/nvme").prepare())
    assert (tmp_path / "nvme/weights/tokenizer.json").read_text() == "{}"
    assert log("stage_model") == f"copied 1 files, 2 bytes, to {tmp_path}/nvme/weights\n"


def test_a_copy_that_fails_says_why(hosts: Callable[..., Hosts], tmp_path: Path) -> None:
    found = hosts("", model=", stage_dir: /proc/none")
    with pytest.raises(NotReadyError) as caught:
        asyncio.run(found.prepare())
    assert str(caught.value) == (
        f"stage_model on n0 exited with code 1: {tmp_path}/weights could not be copied:"
        " /proc/none: No such file or directory"
    )
