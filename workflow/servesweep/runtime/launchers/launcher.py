"""What a launcher is: a command becomes words to execute here."""

from __future__ import annotations

from abc import ABC, abstractmethod

from servesweep.runtime.allocation import Allocation
from servesweep.runtime.launchers.launch import Launch


class LaunchError(Exception):
    """A command that cannot be started in this way; its text is one sentence."""


class Launcher(ABC):
    """Starts commands on nodes of one allocation."""

    def __init__(self, allocation: Allocation) -> None:
        self.allocation = allocation

    @abstractmethod
    def words(self, launch: Launch) -> list[str]:
        """The words to execute on this machine so that the launch's command runs on its nodes.

        Raises:
            LaunchError: where this kind of launcher cannot do it.
        """

    @abstractmethod
    async def terminate(self, name: str, pid: int) -> None:
        """Ask the process called `name`, started here as `pid`, to end by SIGTERM."""

    @abstractmethod
    async def kill(self, name: str, pid: int) -> None:
        """End the process called `name`, started here as `pid`, by SIGKILL."""

    @abstractmethod
    async def sweep_up(self) -> None:
        """End whatever outlived its stop; nothing is left on any node."""
