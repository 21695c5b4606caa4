"""What a running deployment tells of itself, for `servesweep status` to read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from servesweep.plan.plan import Step
from servesweep.runtime.allocation import find_allocation
from servesweep.runtime.launchers import launcher_of
from servesweep.runtime.state import state_of, tell_ready, tell_state
from servesweep.runtime.supervisor import Supervisor
from servesweep.topology.deployment import Command


def step(name: str, shell: str) -> Step:
    fields: dict[str, Any] = {
        "name": name,
        "kind": "worker",
        "node": "n0",
        "command": Command(argv=("bash", "-c", shell)),
        "critical": False,
        "log": f"{name}.out",
    }
    return Step(**fields)


async def written(path: Path, condition: Any) -> dict[str, Any]:
    """The file, once it says what is waited for."""
    for _ in range(600):
        if path.exists() and condition(found := json.loads(path.read_text())):
            return dict(found)
        await asyncio.sleep(0.05)
    raise AssertionError(f"{path} never said it")


def test_the_stage_and_who_is_gone_are_kept_up_to_date(tmp_path: Path) -> None:
    async def scene() -> dict[str, Any]:
        supervisor = Supervisor(launcher_of(find_allocation("local", ["n0"])), tmp_path, lambda line: None)
        telling = asyncio.create_task(tell_state(tmp_path, lambda: supervisor))
        supervisor.stage = "workers"
        await supervisor.start(step("agg_0", "sleep 60"))
        await supervisor.start(step("agg_1", "exit 3"))
        found = await written(tmp_path / "state.json", lambda state: state["ended"])
        # A next life under the same name is there again.
        await supervisor.start(step("agg_1", "sleep 60"))
        assert state_of(supervisor)["ended"] == []
        await supervisor.stop()
        telling.cancel()
        return found

    assert asyncio.run(scene()) == {
        "schema": 1,
        "stage": "workers",
        "running": ["agg_0"],
        "ended": ["agg_1"],
    }


def test_nothing_is_told_before_there_is_a_supervisor(tmp_path: Path) -> None:
    async def scene() -> None:
        telling = asyncio.create_task(tell_state(tmp_path, lambda: None))
        await asyncio.sleep(0.1)
        telling.cancel()

    asyncio.run(scene())
    assert list(tmp_path.iterdir()) == []


def test_ready_workers_are_told_and_a_disk_that_refuses_them_harms_nothing(tmp_path: Path) -> None:
    tell_ready(tmp_path / "logs", {"decode_0", "agg_0"})
    assert json.loads((tmp_path / "logs/workers.json").read_text()) == {
        "schema": 1,
        "ready": ["agg_0", "decode_0"],
    }
    (tmp_path / "file").write_text("")
    tell_ready(tmp_path / "file", {"agg_0"})
