"""The roles of a recipe, whichever of the two spellings it uses, with their engines looked up."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from servesweep.engines import ENGINES
from servesweep.engines.engine import Engine
from servesweep.engines.flags import given
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.engine import EngineSection
from servesweep.recipe.kv_events import KvEventsSection
from servesweep.recipe.problems import KeyPath, Problem, RecipeError, nearest
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.restart import RestartSection
from servesweep.recipe.section import Section
from servesweep.recipe.validation import read_section
from servesweep.recipe.variants import Variant
from servesweep.topology.packing import PackingError, default_gpus
from servesweep.topology.shapes import Mode, RoleShape


@dataclass(frozen=True)
class Role:
    """One active role."""

    shape: RoleShape
    engine: Engine
    options: Section
    path: KeyPath
    args: Mapping[str, Any] = field(default_factory=dict)
    framework_args: tuple[str, ...] | None = None
    pre_launch: tuple[str, ...] = ()
    opentela: bool = False
    env: Mapping[str, str] = field(default_factory=dict)
    extra_args: tuple[str, ...] = ()
    container: str | None = None
    kv_events: KvEventsSection | None = None
    sidecar: bool = False
    critical: bool = True
    restart: RestartSection = field(default_factory=RestartSection)
    srun_options: Mapping[str, str] = field(default_factory=dict)

    @property
    def mode(self) -> Mode:
        """prefill, decode or agg."""
        return self.shape.mode

    @cached_property
    def asked_gpus(self) -> int | None:
        """GPUs that the parallel sizes in its arguments take; None where they give none."""
        words = self.framework_args
        return self.engine.gpus_of(self.args if words is None else given(words))


def resolve_roles(recipe: Recipe, variant: Variant, cluster: Cluster) -> list[Role]:
    """The active roles in the order prefill, decode, agg.

    Raises:
        RecipeError: for an unknown engine, its wrong options, or GPUs that do not divide.
    """
    if recipe.services_only:
        return []
    if recipe.roles is None:
        return [_replica_role(recipe, variant, cluster)]
    per_node = gpus_per_node(recipe, cluster)
    roles: list[Role] = []
    problems: list[Problem] = []
    for mode, section in recipe.roles.items():
        at: KeyPath = ("roles", mode)
        try:
            own = section.engine is not None
            engine, options = _engine(
                section.engine or recipe.engine, (*at, "engine") if own else ("engine",), variant
            )
            gpus = section.gpus
            if gpus is None:
                assert section.nodes != "colocate"
                gpus = default_gpus(mode, section.nodes, per_node, section.workers)
            if gpus > per_node and not engine.spans_nodes:
                problems.append(variant.problem((*at, "gpus"), _one_node(engine, gpus, per_node)))
            roles.append(
                Role(
                    shape=RoleShape(mode, section.nodes, section.workers, gpus),  # type: ignore[arg-type]
                    engine=engine,
                    options=options,
                    path=at,
                    args=section.args,
                    env=section.env,
                    extra_args=section.extra_args,
                    container=section.container or recipe.model.container,
                    kv_events=section.kv_events,
                    sidecar=bool(recipe.dynamo.sidecar if section.sidecar is None else section.sidecar),
                    critical=section.critical,
                    restart=section.restart,
                    srun_options=section.srun_options,
                )
            )
        except RecipeError as error:
            problems += error.problems
        except PackingError as error:
            problems.append(variant.problem((*at, "workers"), str(error).removeprefix(f"{mode}: ")))
    if problems:
        raise RecipeError(dict.fromkeys(problems))
    return roles


def _one_node(engine: Engine, gpus: int, per_node: int) -> str:
    return (
        f"a worker of the engine {engine.name} runs on one node of {per_node} GPUs, and this one has {gpus}:"
        " make more workers, or set gpus"
    )


def gpus_per_node(recipe: Recipe, cluster: Cluster) -> int:
    """GPUs of a node: the recipe's, else the cluster's."""
    return recipe.resources.gpus_per_node or cluster.gpus_per_node


def _replica_role(recipe: Recipe, variant: Variant, cluster: Cluster) -> Role:
    """ADR-0001's replicas: agg workers of whole nodes, whose arguments are the user's own."""
    engine, options = _engine(recipe.engine, ("engine",), variant)
    count, size = recipe.replicas or 1, recipe.nodes_per_replica or 1
    if type(engine).replica is Engine.replica:
        message = f"{engine.name} has no HTTP endpoint of its own, so it cannot be a replica"
        if "http" in engine.transports:
            message = f"{engine.name} is no engine of replicas: describe its workers by roles"
        raise RecipeError([variant.problem(("engine",), message)])
    try:
        words = tuple(shlex.split(recipe.framework_args or ""))
    except ValueError as error:
        message = f"the text is no command line: {str(error).lower()}"
        raise RecipeError([variant.problem(("framework_args",), message)]) from None
    faults = engine.replica_refusals(words, size)
    if faults:
        raise RecipeError([variant.problem((key,), message) for key, message in faults])
    shape = RoleShape("agg", count * size, count, size * gpus_per_node(recipe, cluster))
    return Role(
        shape=shape,
        engine=engine,
        options=options,
        path=(),
        framework_args=words,
        pre_launch=recipe.pre_launch or (),
        opentela=recipe.router == "opentela",
        container=recipe.model.container,
    )


def served_name(role: Role) -> str | None:
    """The name under which a role's own arguments or options let it serve, if they give one."""
    if role.framework_args is not None:
        return role.engine.replica_name(role.framework_args)
    return role.engine.served_model(role.args, role.options)


def _engine(section: EngineSection | None, path: KeyPath, variant: Variant) -> tuple[Engine, Section]:
    assert section is not None
    engine = ENGINES.get(section.type)
    if engine is None:
        raise RecipeError([unknown("engine", section.type, ENGINES, path, variant)])
    return engine, read_section(engine.Options, dict(section.options), variant, path)


def unknown(kind: str, name: str, registry: Mapping[str, object], path: KeyPath, variant: Variant) -> Problem:
    """A registered thing that does not exist, with the nearest that does."""
    guess = nearest(name, registry)
    hint = f"did you mean {guess}?" if guess else f"there are: {', '.join(sorted(registry))}"
    return variant.problem(path, f"unknown {kind} {name!r}; {hint}")
