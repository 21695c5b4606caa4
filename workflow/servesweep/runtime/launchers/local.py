"""`local`: processes on this machine; every node of the plan is virtual."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from servesweep.runtime.launchers.launch import Launch
from servesweep.runtime.launchers.launcher import Launcher, LaunchError
from servesweep.runtime.processes import MARK, end_marked


class LocalLauncher(Launcher):
    """Runs the command itself."""

    def words(self, launch: Launch) -> list[str]:
        """`env` in front, so that both launchers set variables in one way.

        Ranks of one launch find each other through Slurm: several processes that do not would be measured
        as one worker, so they are refused.
        """
        if launch.tasks > 1:
            raise LaunchError(f"its {launch.tasks} ranks are one launch, which needs launcher: slurm")
        if launch.image is not None:
            raise LaunchError("container_runtime: pyxis needs launcher: slurm")
        return launch.words

    async def terminate(self, name: str, pid: int) -> None:
        """Signal the whole session of the process."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGTERM)

    async def kill(self, name: str, pid: int) -> None:
        """Signal the whole session of the process."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)

    async def sweep_up(self) -> None:
        """End processes that left their session: they still carry this run's mark."""
        if MARK in os.environ:
            end_marked(Path(os.environ[MARK]))
