"""How a process of the plan is started: on this machine, or as a step of the Slurm job."""

from __future__ import annotations

from servesweep.runtime.allocation import Allocation
from servesweep.runtime.launchers.launch import Launch, launch_of
from servesweep.runtime.launchers.launcher import Launcher, LaunchError
from servesweep.runtime.launchers.local import LocalLauncher
from servesweep.runtime.launchers.slurm import SlurmLauncher

__all__ = ["LAUNCHERS", "Launch", "LaunchError", "Launcher", "launch_of", "launcher_of"]

LAUNCHERS: dict[str, type[Launcher]] = {"local": LocalLauncher, "slurm": SlurmLauncher}


def launcher_of(allocation: Allocation) -> Launcher:
    """The launcher for an allocation."""
    return LAUNCHERS[allocation.launcher](allocation)
