"""What services may not say, alone or together, before any of them is placed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from servesweep.benchmarks.benchmark import service_prefix
from servesweep.plan.services import DISCOVERY, TYPES, Wanted, pools
from servesweep.recipe.problems import KeyPath, Problem, RecipeError, listed, nearest
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.services import CARRYING_WORKERS, ServiceSection
from servesweep.recipe.variants import Variant
from servesweep.services import SERVICES
from servesweep.services.service import SharedService

SHARED = tuple(name for name, kind in SERVICES.items() if isinstance(kind, SharedService))
ONE_NODE = ("head", "infra", "dedicated")

Fault = tuple[str, str]


def service_problems(recipe: Recipe, frontend: str, on: list[Wanted], variant: Variant) -> list[Problem]:
    """Every rule of this file, service by service; `on` are those of `services_of`."""
    problems = []
    owners = pools(recipe)
    seen: set[str] = set()
    for index, service in enumerate(recipe.services):
        at: KeyPath = ("services", index)
        rules = [_type(service), _placement(service, owners, recipe), _alone(service, recipe, frontend)]
        for key, message in (fault for rule in rules for fault in rule):
            problems.append(variant.problem((*at, *key.split(".")), message))
        if service.name in seen:
            problems.append(variant.problem((*at, "name"), f"there are two services {service.name!r}"))
        seen.add(service.name)
        if service.type in SERVICES:
            problems += _options(Wanted(service, index), variant)
    return [
        *problems,
        *_found_alike(on, variant),
        *_together(recipe, variant),
    ]


def _options(service: Wanted, variant: Variant) -> list[Problem]:
    if not service.section.enabled or service.section.external is not None:
        return []
    try:
        service.options(variant)
    except RecipeError as error:
        return list(error.problems)
    return []


def _found_alike(services: list[Wanted], variant: Variant) -> Iterator[Problem]:
    """Two names of which clients would find one service alone: `log-1` and `Log-1`."""
    first: dict[str, str] = {}
    # Those that run elsewhere have no nodes to be told.
    for service in (one for one in services if one.section.external is None):
        prefix, name = service_prefix(service.section.name), service.section.name
        other = first.setdefault(prefix, name)
        if other != name:
            message = (
                f"{name!r} and {other!r} are told to clients by the same variables, {prefix}_*: rename one"
            )
            yield variant.problem((*service.path, "name"), message)


def _together(recipe: Recipe, variant: Variant) -> list[Problem]:
    problems = []
    on = [service for service in recipe.services if service.enabled]
    own = {s.type: s.place == "dedicated" for s in on if s.type in DISCOVERY and s.external is None}
    if len(set(own.values())) > 1:
        message = "etcd and nats share the node of the discovery plane: say dedicated on both or on neither"
        problems.append(variant.problem(("services",), message))
    masters = [i for i, s in enumerate(recipe.services) if s.enabled and s.type == "mooncake-master"]
    for index in masters[1:]:
        message = "a job has one mooncake-master: its address is told to every worker"
        problems.append(variant.problem(("services", index, "type"), message))
    return problems


def _type(service: ServiceSection) -> Iterator[Fault]:
    if service.type not in TYPES:
        guess = nearest(service.type, TYPES)
        hint = f"did you mean {guess}?" if guess else f"there are: {', '.join(TYPES)}"
        yield "type", f"unknown service type {service.type!r}; {hint}"
    if service.name in DISCOVERY and service.type != service.name:
        yield "type", f"a service named {service.name} is of the type {service.name}"


def _placement(service: ServiceSection, owners: Mapping[str, int], recipe: Recipe) -> Iterator[Fault]:
    placement = service.placement
    if placement is None:
        return
    if placement.pool and placement.pool not in owners:
        known = ", ".join(owners) or "no service owns nodes"
        yield "placement", f"there is no pool {placement.pool!r}; there are: {known}"
    modes = [mode for mode, _ in recipe.roles.items()] if recipe.roles else ["agg"] if recipe.replicas else []
    if placement.node in ("prefill", "decode", "agg") and placement.node not in modes:
        yield "placement", f"there is no role {placement.node} in this recipe"
    attached = placement.per == "worker" or placement.node == "workers"
    if attached and not modes and not service.nodes:
        yield "placement", "there are no workers in this recipe: say pool, head or all"
    if (
        placement.per == "worker"
        and placement.node is None
        and _default_place(service) not in CARRYING_WORKERS
    ):
        yield (
            "placement",
            "per: worker needs to know whose workers: say node: prefill, decode, agg or workers",
        )
    if placement.node == "dedicated" and service.type not in SHARED:
        told = listed(SHARED)
        yield "placement", f"dedicated is for {told}: a service with nodes of its own says `nodes`"


def _default_place(service: ServiceSection) -> str | None:
    return SERVICES[service.type].place if service.type in SERVICES else None


def _alone(service: ServiceSection, recipe: Recipe, frontend: str) -> Iterator[Fault]:
    if service.external is not None and service.type not in SHARED:
        yield "external", f"{listed(SHARED)} can run elsewhere, and {service.type} cannot: remove the key"
    if service.type == "etcd" and not service.enabled and frontend == "dynamo":
        yield "enabled", "Dynamo needs etcd: name another one as external, or leave it on"
    if service.terminal and recipe.benchmark.type != "manual":
        yield "terminal", "a terminal service ends the job, so nothing else may: say benchmark.type: manual"
    if service.terminal and recipe.benchmark.options.get("serve_seconds") is not None:
        yield "terminal", "a terminal service ends the job, so serve_seconds may not: remove one of them"
    if service.source is not None and not _on_one_node(service):
        yield "source", "it is built on the one node where it runs, and this service has several"
    if service.enabled and service.external is None and service.type in SERVICES:
        yield from SERVICES[service.type].refusals(service, recipe)


def _on_one_node(service: ServiceSection) -> bool:
    if service.nodes is not None or (service.placement is not None and service.placement.pool is not None):
        return service.nodes == 1
    return (service.place or _default_place(service)) in ONE_NODE
