"""What a service is: a process on a node that others find through environment variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from servesweep.topology.deployment import Binding, Command, Probe


class Service(ABC):
    """One kind of service, placed on one node."""

    name: ClassVar[str]

    @abstractmethod
    def command(self, node: str, binding: Binding) -> Command:
        """Render the service's process on a node."""

    @abstractmethod
    def probe(self) -> Probe:
        """How its readiness is asked."""

    @abstractmethod
    def discovery(self, node: str, binding: Binding) -> dict[str, str]:
        """Environment by which workers and frontend find it."""
