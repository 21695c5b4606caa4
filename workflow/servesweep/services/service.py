"""What a kind of service is: a command for each of its instances, and when it is ready."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import ClassVar

from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Section
from servesweep.recipe.services import Per, ServiceSection, Start
from servesweep.services.instance import Instance
from servesweep.topology.deployment import Binding, Command, Readiness

Fault = tuple[str, str]


class NoServiceOptions(Section):
    """For services without options."""


class Service(ABC):
    """One kind of service: what a recipe need not say about it, and what it may not."""

    name: ClassVar[str]
    Options: ClassVar[type[Section]] = NoServiceOptions
    place: ClassVar[str] = "head"
    places: ClassVar[frozenset[str]] = frozenset()  # that it may have; empty: any
    per: ClassVar[Per] = "node"
    start: ClassVar[Start] = "before_workers"
    critical: ClassVar[bool] = True
    image: ClassVar[str | None] = None
    image_of: ClassVar[str | None] = None  # the service whose image it shares
    own_command: ClassVar[bool] = True  # whether it has one, and the recipe need not name it
    bare: ClassVar[bool] = False  # whether it runs outside of a container unless it names one
    srun_options: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def command(self, instance: Instance, options: Section) -> Command:
        """Render one instance; its environment may be changed by the recipe's."""

    def owned_environment(self, instance: Instance) -> dict[str, str]:
        """Environment that wins over the recipe's."""
        return {}

    def readiness(self, instance: Instance, options: Section) -> Readiness | None:
        """When an instance is ready, where the recipe does not say; None: as soon as it is started."""
        return None

    def ports(self, instance: Instance, options: Section) -> tuple[int, ...]:
        """Ports that the instance listens on."""
        found = self.readiness(instance, options)
        return tuple(probe.port for probe in found.probes if probe.node is None) if found else ()

    def refusals(self, section: ServiceSection, recipe: Recipe) -> Iterator[Fault]:
        """What the declaration may not say in this recipe, as (key, sentence)."""
        if self.places and section.place and section.place not in self.places:
            allowed = ", ".join(sorted(self.places))
            yield "placement", f"{self.name} cannot stand on {section.place}: say one of {allowed}"


class SharedService(Service):
    """A service that others find by environment variables: it may run elsewhere, or on a node of its own."""

    scheme: ClassVar[str] = "http"
    place = "infra"
    places = frozenset({"head", "infra", "dedicated"})

    @abstractmethod
    def url(self, node: str, binding: Binding) -> str:
        """Where clients reach it."""

    def discovery(self, url: str) -> dict[str, str]:
        """Environment by which Dynamo's workers and frontend find it, and services beside them."""
        return {}

    def for_workers(self, url: str, address: str) -> tuple[dict[str, str], dict[str, str]]:
        """Environment of every worker at an address: what its own may change, and what not."""
        return {}, {}

    def external_url(self, address: str) -> str:
        """The URL of one that runs elsewhere, given as a URL already or as host and port."""
        return address if "://" in address else f"{self.scheme}://{address}"
