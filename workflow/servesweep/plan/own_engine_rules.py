"""What roles with engines of their own may not say."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from servesweep.engines.flags import kebab
from servesweep.engines.mooncake import store_of
from servesweep.plan.roles import Role
from servesweep.plan.services import MOONCAKE
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import option

OWN_ENGINES = "roles with engines of their own"
# vLLM connectors whose workers find each other by a discovery service instead of the router.
DISCOVERING = frozenset({"moriio", "lmcache-mp"})

Fault = tuple[tuple[str | int, ...], str]


def _no_dynamo(recipe: Recipe, frontend: str, roles: list[Role], per_node: int) -> Iterator[Fault]:
    if frontend == "dynamo":
        yield (
            ("frontend", "type"),
            f"{OWN_ENGINES} do not run under Dynamo: name one engine at the top, or use another frontend",
        )


def _no_sidecar(recipe: Recipe, frontend: str, roles: list[Role], per_node: int) -> Iterator[Fault]:
    for role in roles:
        if role.sidecar:
            yield (*role.path, "sidecar"), f"{OWN_ENGINES} have no sidecars"


def _no_het(recipe: Recipe, frontend: str, roles: list[Role], per_node: int) -> Iterator[Fault]:
    if recipe.resources.het_jobs:
        yield ("resources", "het_jobs"), f"{OWN_ENGINES} do not run in a heterogeneous job"


def _no_profiling(recipe: Recipe, frontend: str, roles: list[Role], per_node: int) -> Iterator[Fault]:
    if recipe.profiling.type != "none":
        yield ("profiling", "type"), f"{OWN_ENGINES} cannot be profiled"


def _no_failover(recipe: Recipe, frontend: str, roles: list[Role], per_node: int) -> Iterator[Fault]:
    for role in roles:
        if option(role.options, "failover"):
            yield (*role.path, "engine", "failover"), f"{OWN_ENGINES} have no failover"


def _no_implicit_store(recipe: Recipe, frontend: str, roles: list[Role], per_node: int) -> Iterator[Fault]:
    for role in roles:
        if store_of(role.options):
            yield (*role.path, "engine", "mooncake_kv_store"), f"{OWN_ENGINES} share no Mooncake store"
    if any(role.engine.moves_by_mooncake for role in roles):
        return  # Its point-to-point transfer needs no store.
    for index, service in enumerate(recipe.services):
        if service.enabled and service.type in MOONCAKE:
            yield ("services", index, "type"), f"{OWN_ENGINES} share no Mooncake store"


def _no_discovery(recipe: Recipe, frontend: str, roles: list[Role], per_node: int) -> Iterator[Fault]:
    for role in roles:
        connector = role.engine.connector(role.args, role.options)
        if connector in DISCOVERING:
            said = [("args", key) for key in role.args if kebab(key) == "connector"]
            yield (
                (*role.path, *(said[0] if said else ("engine", "connector"))),
                f"{OWN_ENGINES} cannot use the connector {connector}, whose workers discover each other",
            )


def _no_grpc(recipe: Recipe, frontend: str, roles: list[Role], per_node: int) -> Iterator[Fault]:
    for role in roles:
        key = next(
            (key for key in role.args if key.replace("_", "-") == "grpc-mode" and role.args[key]), None
        )
        if key is not None and role.engine.scheme({"grpc-mode": True}) != "http":
            yield (
                (*role.path, "args", key),
                f"{OWN_ENGINES} are asked by HTTP: gRPC of {role.engine.name} is not supported",
            )


def _whole_nodes(recipe: Recipe, frontend: str, roles: list[Role], per_node: int) -> Iterator[Fault]:
    for role in roles:
        gpus = role.shape.gpus
        if gpus <= per_node:
            continue
        if role.engine.one_step:
            yield (
                (*role.path, "gpus"),
                f"a {role.engine.name} worker beside another engine runs on one node of {per_node} GPUs,"
                f" and this one has {gpus}",
            )
        elif gpus % per_node:
            yield (
                (*role.path, "gpus"),
                f"with engines per role a worker of several nodes has whole nodes, and {gpus} GPUs are"
                f" {gpus / per_node:g} nodes of {per_node}",
            )


OWN_ENGINE_RULES: tuple[Callable[[Recipe, str, list[Role], int], Iterator[Fault]], ...] = (
    _no_dynamo, _no_sidecar, _no_het, _no_profiling, _no_failover, _no_implicit_store, _no_discovery,
    _no_grpc, _whole_nodes,
)  # fmt: skip
