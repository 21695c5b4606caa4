"""What roles may not combine: events, sidecars, stores, engines that stand by, arguments of one engine."""

from __future__ import annotations

from collections.abc import Iterator

from servesweep.engines.engine import argument
from servesweep.engines.flags import kebab, named, owned
from servesweep.engines.mooncake import store_of
from servesweep.plan.own_engine_rules import OWN_ENGINE_RULES
from servesweep.plan.parallel_sizes import too_large
from servesweep.plan.roles import Role
from servesweep.recipe.problems import Problem, listed
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.variants import Variant

TRANSFER = "disaggregation-transfer-backend"

Fault = tuple[tuple[str | int, ...], str]


def role_problems(
    recipe: Recipe, frontend: str, roles: list[Role], per_node: int, variant: Variant
) -> list[Problem]:
    """Every rule of this file, in order."""
    faults: list[Fault] = [
        *_events(frontend, roles),
        *_extra_args(frontend, roles),
        *_sidecars(recipe, frontend, roles, per_node),
        *_registering(recipe, frontend, roles),
        *_profiler(recipe, roles),
        *too_large(roles, per_node),
    ]
    if recipe.engine is not None:
        faults += [*_store(roles), *_failover(frontend, roles)]
    elif recipe.roles is not None:
        for rule in OWN_ENGINE_RULES:
            faults += rule(recipe, frontend, roles, per_node)
    return [variant.problem(key, message) for key, message in faults]


def _events(frontend: str, roles: list[Role]) -> Iterator[Fault]:
    for role in roles:
        if role.kv_events is not None and frontend != "dynamo":
            yield (
                (*role.path, "kv_events"),
                f"kv events feed Dynamo's router, and the frontend is {frontend}: remove the key",
            )


def _extra_args(frontend: str, roles: list[Role]) -> Iterator[Fault]:
    for role in roles:
        if not role.extra_args:
            continue
        at = (*role.path, "extra_args")
        if role.engine.name != "trtllm":
            engine = role.engine.name
            yield at, f"extra_args are flags of trtllm's server, and the engine is {engine}: write args"
        elif frontend == "dynamo":
            yield at, "extra_args are flags of trtllm-serve, which does not run under dynamo: remove them"
        if mine := owned(named(role.extra_args), role.engine.reserved_extra):
            told = listed([f"--{name}" for name in mine])
            yield at, f"servesweep sets {told} itself, from the topology and the role's args: remove it"


def _sidecars(recipe: Recipe, frontend: str, roles: list[Role], per_node: int) -> Iterator[Fault]:
    wanted = [role for role in roles if role.sidecar]
    if not wanted:
        return
    first = wanted[0]
    if len(wanted) != len(roles):
        other = next(role for role in roles if not role.sidecar)
        yield (
            (*first.path, "sidecar"),
            f"all roles run beside a sidecar, or none: {other.mode} has none",
        )
    for role in wanted:
        for key, message in role.engine.sidecar_refusals(role.shape, per_node, role.args, role.options):
            yield (*role.path, *key.split(".", 1)), message
    if recipe.profiling.type != "none":
        yield ("profiling", "type"), "a profiler would trace the sidecar too: profile without sidecars"
    if recipe.dynamo.request_plane == "http":
        yield ("dynamo", "request_plane"), "sidecars talk by tcp or nats: say one of them"
    if frontend != "dynamo":
        where = ("dynamo", "sidecar") if recipe.dynamo.sidecar else (*first.path, "sidecar")
        yield where, f"sidecars belong to Dynamo, and the frontend is {frontend}"


def _store(roles: list[Role]) -> Iterator[Fault]:
    """Some engines start a store's client only where a role transfers by it."""
    split = [r for r in roles if r.engine.store_by_transfer and r.mode != "agg" and store_of(r.options)]
    if split and all(argument(role.args, TRANSFER) != "mooncake" for role in split):
        message = f"no role transfers by Mooncake: say {TRANSFER}: mooncake in args of prefill and decode"
        yield ("engine", "mooncake_kv_store"), message


def _failover(frontend: str, roles: list[Role]) -> Iterator[Fault]:
    wanted = [role for role in roles if role.engine.standbys(role.options)]
    if wanted and frontend != "dynamo":
        message = f"engines that stand by register with Dynamo alone, and the frontend is {frontend}"
        yield ("engine", "failover"), message
    elif any(role.sidecar for role in wanted):
        yield ("engine", "failover"), "a worker beside a sidecar has no engines that stand by: keep one"


def _registering(recipe: Recipe, frontend: str, roles: list[Role]) -> Iterator[Fault]:
    """Workers that register with their router must all do so, and with the one that takes them."""
    found = [role for role in roles if role.engine.registers(role.args, role.options)]
    if not found or recipe.engine is None:
        return
    at = ("engine", "connector")
    if frontend != "vllm-router":
        yield at, f"workers with the connector moriio register with vllm-router, not with {frontend}"
    elif len(found) != len(roles) or found[0].mode == "agg":
        yield at, "the connector moriio joins prefill and decode: both have it, or none"
    elif recipe.frontend is not None and recipe.frontend.enable_multiple_frontends is not False:
        message = "workers register with one router: say enable_multiple_frontends: false"
        yield ("frontend", "enable_multiple_frontends"), message


def _profiler(recipe: Recipe, roles: list[Role]) -> Iterator[Fault]:
    """Where the engine opens the window, the recipe's own one would contradict it."""
    if recipe.profiling.type != "nsys":
        return
    for role in roles:
        names = [
            word.removeprefix("--") for word in role.engine.profiler_flags(0, 1) if word.startswith("--")
        ]
        for key in role.args:
            if kebab(key).partition(".")[0] in names:
                yield (*role.path, "args", key), "profiling sets this argument from its steps: remove it"
