"""The services of a configuration: those it declares, and those that follow from what it uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from servesweep.plan.plan import PlannedService
from servesweep.recipe.problems import KeyPath, Problem, nearest
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.services import ServiceSection
from servesweep.recipe.variants import Variant

TYPES = (
    "generic", "etcd", "nats", "mooncake-master", "mooncake-donor", "mooncake-store", "dcgm-exporter",
    "node-exporter", "process-exporter", "lmcache-server", "ray", "gms",
)  # fmt: skip
EXPORTERS = ("dcgm-exporter", "node-exporter", "process-exporter")
DISCOVERY = ("etcd", "nats")
MOONCAKE = frozenset({"mooncake-master", "mooncake-donor", "mooncake-store"})


def services_of(recipe: Recipe, frontend: str, options: Mapping[str, object]) -> list[PlannedService]:
    """Declared services that are on, in order, after the implied ones that no declaration takes over.

    `options` are engine-wide options by name, of all engines together.
    """
    declared = {service.name: service for service in recipe.services}
    implied = [
        PlannedService(name=name, type=name, implied=True, place="infra" if name in DISCOVERY else "workers")
        for name in _implied(recipe, frontend, options)
        if name not in declared
    ]
    return implied + [_planned(service) for service in recipe.services if service.enabled]


def _planned(service: ServiceSection) -> PlannedService:
    default = "infra" if service.type in DISCOVERY else "workers" if service.type in EXPORTERS else "head"
    placement = service.placement
    place = (placement.pool or placement.node) if placement else None
    return PlannedService(
        name=service.name,
        type=service.type,
        nodes=service.nodes or 0,
        place=place or (service.name if service.nodes else default),
        external=service.external,
    )


def _implied(recipe: Recipe, frontend: str, options: Mapping[str, object]) -> list[str]:
    names = []
    if frontend == "dynamo":
        names.append("etcd")
        if recipe.dynamo.needs_nats:
            names.append("nats")
    if recipe.observability.tachometer and recipe.observability.tachometer.enabled:
        names += EXPORTERS
    elif recipe.telemetry.enabled:
        names.append("dcgm-exporter")
    if options.get("failover"):
        names.append("gms")
    if options.get("connector") == "lmcache-mp":
        names.append("lmcache-server")
    return names


def pools(recipe: Recipe) -> dict[str, int]:
    """Nodes of each service that owns nodes, in the order of declaration."""
    return {s.name: s.nodes for s in recipe.services if s.enabled and s.nodes}


def discovery_spot(recipe: Recipe) -> Literal["head", "dedicated"]:
    """Whether etcd and NATS have a node of their own."""
    own = [s for s in recipe.services if s.enabled and s.type in DISCOVERY and s.place == "dedicated"]
    return "dedicated" if own else "head"


def service_problems(recipe: Recipe, frontend: str, variant: Variant) -> list[Problem]:
    """Faults that only several services, or a service and its recipe, show together."""
    problems = []
    owners = pools(recipe)
    seen: set[str] = set()
    for index, service in enumerate(recipe.services):
        at: KeyPath = ("services", index)
        for key, message in _faults(service, owners, recipe, frontend):
            problems.append(variant.problem((*at, key), message))
        if service.name in seen:
            problems.append(variant.problem((*at, "name"), f"there are two services {service.name!r}"))
        seen.add(service.name)
    own = {s.type: s.place == "dedicated" for s in recipe.services if s.enabled and s.type in DISCOVERY}
    if len(set(own.values())) > 1:
        message = "etcd and nats share the node of the discovery plane: say dedicated on both or on neither"
        problems.append(variant.problem(("services",), message))
    return problems


def _faults(
    service: ServiceSection, owners: Mapping[str, int], recipe: Recipe, frontend: str
) -> list[tuple[str, str]]:
    faults = []
    if service.type not in TYPES:
        guess = nearest(service.type, TYPES)
        hint = f"did you mean {guess}?" if guess else f"there are: {', '.join(TYPES)}"
        faults.append(("type", f"unknown service type {service.type!r}; {hint}"))
    placement = service.placement
    if placement and placement.pool and placement.pool not in owners:
        known = ", ".join(owners) or "no service owns nodes"
        faults.append(("placement", f"there is no pool {placement.pool!r}; there are: {known}"))
    if placement and placement.node in ("prefill", "decode", "agg"):
        modes = [mode for mode, _ in recipe.roles.items()] if recipe.roles else []
        if placement.node not in modes:
            faults.append(("placement", f"there is no role {placement.node} in this recipe"))
    if placement and placement.node == "dedicated" and service.type not in DISCOVERY:
        faults.append(
            ("placement", "dedicated is for etcd and nats: a service with nodes of its own says `nodes`")
        )
    if service.name in DISCOVERY and service.type != service.name:
        faults.append(("type", f"a service named {service.name} is of the type {service.name}"))
    if service.type == "etcd" and not service.enabled and frontend == "dynamo":
        faults.append(("enabled", "Dynamo needs etcd: name another one as external, or leave it on"))
    if service.terminal and recipe.benchmark.type != "manual":
        faults.append(
            ("terminal", "a terminal service ends the job, so nothing else may: say benchmark.type: manual")
        )
    return faults
