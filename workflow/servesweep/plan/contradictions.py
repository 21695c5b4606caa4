"""What a recipe says twice with two meanings, or says of its own and the plan decides."""

from __future__ import annotations

from collections.abc import Iterator

from servesweep.engines.argument_faults import SERVED
from servesweep.engines.flags import kebab, owned
from servesweep.engines.mooncake import store_environment
from servesweep.plan.roles import Role, served_name
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import KeyPath, Problem
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.variants import Variant

Fault = tuple[KeyPath, str]

DEVICES = "CUDA_VISIBLE_DEVICES"
EVENTS = "kv-events-config"


def contradictions(recipe: Recipe, cluster: Cluster, roles: list[Role], variant: Variant) -> list[Problem]:
    """Every rule of this file, in order."""
    faults = [*_devices(recipe, cluster, roles), *_names(recipe, roles), *_events(roles)]
    return [variant.problem(key, message) for key, message in faults]


def _devices(recipe: Recipe, cluster: Cluster, roles: list[Role]) -> Iterator[Fault]:
    """A worker sees the GPUs that it was given, as those of its node that are others' may be in use."""
    message = "servesweep sets this variable from the GPUs of each worker: remove it"
    names = (DEVICES, cluster.visible_devices_env)
    for role in roles:
        own: KeyPath = (*role.path, "engine") if recipe.engine is None else ("engine",)
        for path, said in (
            ((*role.path, "env"), role.env),
            ((*own, "mooncake_kv_store", "env"), store_environment(role.options)),
            (("environment",), recipe.environment),
        ):
            yield from (((*path, name), message) for name in said if name in names)
    if roles:
        for name in cluster.environment:
            if name in names:
                yield (), f"the cluster file's environment has {name}: {message}"


def name_notes(recipe: Recipe, roles: list[Role]) -> Iterator[str]:
    """Served names that a role's arguments give, and the recipe's own one replaces."""
    ours = recipe.model.served_name
    for role in roles:
        for key in owned(role.args, {SERVED}):
            if ours and isinstance(role.args[key], str) and role.args[key] != ours:
                yield f"roles.{role.mode}.args.{key} is not used: model.served_name is {ours}"


def _names(recipe: Recipe, roles: list[Role]) -> Iterator[Fault]:
    """Clients ask all workers for one model; a replica's own words say its name as they are."""
    ours, first = recipe.model.served_name, ""
    for role in roles:
        name, keys = served_name(role), owned(role.args, {SERVED})
        if role.framework_args is not None and ours and name not in (None, ours):
            yield ("framework_args",), f"--{SERVED} is {name}, and model.served_name {ours}: keep one of them"
        elif keys and not ours and name:
            first = first or name
            if name != first:
                message = f"the other role's name is {first}, and clients ask for one: write the same"
                yield (*role.path, "args", keys[0]), message


def _events(roles: list[Role]) -> Iterator[Fault]:
    for role in roles:
        for key in role.args if role.kv_events is not None else ():
            if kebab(key).partition(".")[0] == EVENTS:
                message = "kv_events of the role sets this flag, with a port of its own: keep one of them"
                yield (*role.path, "args", key), message
