"""Two small files that tell a running deployment's state to whoever looks: `servesweep status` does.

The supervisor and the health gate are two processes: each has a file of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from servesweep.evidence.files import write_atomically
from servesweep.runtime.supervisor import Supervisor

POLL_SECONDS = 0.5


async def tell_state(logs: Path, supervisor: Callable[[], Supervisor | None]) -> None:
    """Keep `state.json` up to date until cancelled: the stage, and whose process is gone."""
    told: dict[str, Any] = {}
    while True:
        current = supervisor()
        if current is not None and (state := state_of(current)) != told:
            told = state
            _write(logs / "state.json", state)
        await asyncio.sleep(POLL_SECONDS)


def state_of(supervisor: Supervisor) -> dict[str, Any]:
    """The stage, the steps whose latest process has ended, and those whose process is there."""
    latest = {running.step.name: running.ended.done() for running in supervisor.running}
    return {
        "schema": 1,
        "stage": supervisor.stage,
        "running": sorted(name for name, ended in latest.items() if not ended),
        "ended": sorted(name for name, ended in latest.items() if ended),
    }


def tell_ready(logs: Path, ready: Iterable[str]) -> None:
    """Write `workers.json`: the workers' processes that have become ready."""
    _write(logs / "workers.json", {"schema": 1, "ready": sorted(ready)})


def _write(path: Path, data: dict[str, Any]) -> None:
    # Nobody's run fails because a disk is too full for its status.
    with contextlib.suppress(OSError):
        write_atomically(path, json.dumps(data) + "\n")
