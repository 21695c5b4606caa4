"""What a service is: a process on a node that others find through environment variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from servesweep.recipe.section import Section
from servesweep.topology.deployment import Binding, Command, Probe


class NoServiceOptions(Section):
    """For services without options."""


class Service(ABC):
    """One kind of service, placed on one node."""

    name: ClassVar[str]
    scheme: ClassVar[str] = "http"
    Options: ClassVar[type[Section]] = NoServiceOptions

    @abstractmethod
    def command(self, node: str, binding: Binding, options: Section | None = None) -> Command:
        """Render the service's process on a node."""

    @abstractmethod
    def probe(self) -> Probe:
        """How its readiness is asked."""

    @abstractmethod
    def url(self, node: str, binding: Binding) -> str:
        """Where clients reach it."""

    @abstractmethod
    def discovery(self, url: str) -> dict[str, str]:
        """Environment by which workers and frontend find it."""

    def external_url(self, address: str) -> str:
        """The URL of one that runs elsewhere, given as a URL already or as host and port."""
        return address if "://" in address else f"{self.scheme}://{address}"
