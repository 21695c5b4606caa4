"""The services of a configuration: those it declares, and those that follow from what it uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pydantic import ValidationError

from servesweep.engines.mooncake import store_of
from servesweep.plan.roles import Role
from servesweep.recipe.problems import KeyPath
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Section, option
from servesweep.recipe.services import Per, ServicePlacement, ServiceSection, Start
from servesweep.recipe.validation import read_section
from servesweep.recipe.variants import Variant
from servesweep.services import SERVICES
from servesweep.services.service import Service, SharedService

TYPES = tuple(SERVICES)
DISCOVERY = ("etcd", "nats")
MOONCAKE = frozenset({"mooncake-master", "mooncake-donor", "mooncake-store"})
# The KV connector whose workers talk to a server on their own node.
CONNECTOR = "lmcache-mp"


@dataclass(frozen=True)
class Wanted:
    """One service that is on: its declaration, and the place of that in the recipe; None: it is implied."""

    section: ServiceSection
    index: int | None = None

    @property
    def kind(self) -> Service:
        """Its type."""
        return SERVICES[self.section.type]

    @property
    def path(self) -> KeyPath:
        """Where the recipe declares it, or what made it necessary, does."""
        return ("services",) if self.index is None else ("services", self.index)

    @property
    def pool(self) -> str | None:
        """The pool on whose nodes it stands: its own, or another's."""
        if self.section.nodes:
            return self.section.name
        return self.section.placement.pool if self.section.placement else None

    @property
    def place(self) -> str:
        """The word for its nodes where it has no pool."""
        return "workers" if self.section.nodes else self.section.place or self.kind.place

    @property
    def per(self) -> Per:
        """One instance a node, or a worker."""
        said = self.section.placement.per if self.section.placement else None
        return said or ("node" if self.pool else self.kind.per)

    @property
    def start(self) -> Start:
        """When it is started."""
        return self.section.start or self.kind.start

    @property
    def critical(self) -> bool:
        """Whether its failure ends the run."""
        return self.kind.critical if self.section.critical is None else self.section.critical

    @property
    def url_elsewhere(self) -> str | None:
        """Where it is reached when it runs elsewhere."""
        external, kind = self.section.external, self.kind
        return kind.external_url(external) if external and isinstance(kind, SharedService) else None

    def options(self, variant: Variant) -> Section:
        """The type's own options.

        Raises:
            RecipeError: for wrong ones.
        """
        unsaid = None if self.section.options else _unsaid(self.kind.Options)
        return unsaid or read_section(
            self.kind.Options, self.section.options, variant, (*self.path, "options")
        )


@cache
def _unsaid(options: type[Section]) -> Section | None:
    """The options of a service that says none; None where some must be said."""
    try:
        return options()
    except ValidationError:
        return None


def services_of(recipe: Recipe, frontend: str, roles: list[Role]) -> list[Wanted]:
    """Every service that is on, in the order of start within a phase: implied ones before the others.

    A declared one takes the place of the implied one of its name.
    """
    declared = {section.name: Wanted(section, at) for at, section in enumerate(recipe.services)}
    implied = {section.name: Wanted(section) for section in _implied(recipe, frontend, roles)}
    first = [declared.get(name, one) for name, one in implied.items()]
    rest = [one for name, one in declared.items() if name not in implied]
    return [one for one in (*first, *rest) if one.section.enabled]


def _implied(recipe: Recipe, frontend: str, roles: list[Role]) -> Iterator[ServiceSection]:
    if frontend == "dynamo":
        yield _plain("etcd")
        if recipe.dynamo.needs_nats:
            yield _plain("nats")
    failover = next((found for role in roles if (found := option(role.options, "failover"))), None)
    if failover:
        yield _section("gms", options={"shared_dir": failover.shared_dir})
    store = next((found for role in roles if (found := store_of(role.options))), None)
    if store:
        config = getattr(store, "store_config", {})
        yield _section(
            "mooncake-master",
            container=store.container,
            args=store.master_extra_args,
            options={"store_config": config} if config else {},
        )
    caching = [role.mode for role in roles if role.engine.connector(role.args, role.options) == CONNECTOR]
    if caching and not any(one.type == "lmcache-server" for one in recipe.services):
        place = caching[0] if len(caching) == 1 else "workers"
        yield _section("lmcache-server", placement=ServicePlacement(node=place))
    yield from _exporters(recipe)


def _exporters(recipe: Recipe) -> Iterator[ServiceSection]:
    exporter = recipe.telemetry.dcgm_exporter if recipe.telemetry.enabled else None
    if exporter is not None:
        yield _section(
            "dcgm-exporter",
            container=exporter.container_image,
            command=tuple(word.replace("{port}", str(exporter.port)) for word in exporter.command),
            options={"port": exporter.port, "collect_interval_ms": recipe.telemetry.collect_interval_ms},
        )
    elif recipe.observability.scrapes:
        scraper = recipe.observability.tachometer
        often = {"collect_interval_ms": scraper.collect_interval_ms} if scraper else {}
        yield _section("dcgm-exporter", options=often)
    if recipe.observability.scrapes:
        yield _plain("node-exporter")
        yield _plain("process-exporter")


@cache
def _plain(name: str) -> ServiceSection:
    return _section(name)


def _section(name: str, **said: Any) -> ServiceSection:
    return ServiceSection(name=name, type=name, **said)


def pools(recipe: Recipe) -> dict[str, int]:
    """Nodes of each service that owns nodes, in the order of declaration."""
    return {s.name: s.nodes for s in recipe.services if s.enabled and s.nodes}


def discovery_spot(recipe: Recipe) -> Literal["head", "dedicated"]:
    """Whether the services that all others look for have a node of their own."""
    own = [s for s in recipe.services if s.enabled and s.place == "dedicated" and s.external is None]
    return "dedicated" if any(isinstance(SERVICES.get(s.type), SharedService) for s in own) else "head"
