"""`local`: processes on this machine; every node of the plan is virtual."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from servesweep.runtime.launchers.launcher import Launcher
from servesweep.runtime.processes import MARK, end_marked


class LocalLauncher(Launcher):
    """Runs the command itself."""

    def words(
        self,
        name: str,
        node: str,
        argv: tuple[str, ...],
        env: Mapping[str, str],
        options: Mapping[str, str],
        log: Path | None,
    ) -> list[str]:
        """`env` in front, so that both launchers set variables in one way."""
        return ["env", *(f"{key}={value}" for key, value in env.items()), *argv]

    async def terminate(self, name: str, pid: int) -> None:
        """Signal the whole session of the process."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGTERM)

    async def sweep_up(self) -> None:
        """End processes that left their session: they still carry this run's mark."""
        if MARK in os.environ:
            end_marked(Path(os.environ[MARK]))
