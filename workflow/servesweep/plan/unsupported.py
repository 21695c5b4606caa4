"""What the language and the plan know, and the runtime of this version cannot do yet."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from servesweep.benchmarks import BENCHMARKS
from servesweep.engines.vllm_options import VllmOptions
from servesweep.plan.asked import asked
from servesweep.plan.plan import Plan
from servesweep.plan.roles import Role
from servesweep.recipe.dynamo import DynamoSection, DynamoSource
from servesweep.recipe.model import ModelSection
from servesweep.recipe.not_yet import left_out
from servesweep.recipe.observability import ObservabilitySection
from servesweep.recipe.profiling import ProfilingSection
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import option
from servesweep.recipe.services import ServiceSection
from servesweep.recipe.telemetry import TelemetrySection

EVENTS_FLAGS = ("--kv-events-config", "--publish-events-and-metrics")


def unsupported(plan: Plan, roles: list[Role]) -> tuple[str, ...]:
    """One sentence for each feature that a run would have to leave out; none is left out silently."""
    engines = [feature for role in roles for feature in role.engine.unsupported(role.options)]
    return tuple(dict.fromkeys([*_roles(plan), *engines, *_services(plan), *_job(plan)]))


def _roles(plan: Plan) -> Iterator[str]:
    recipe = plan.resolved
    for mode, role in recipe.roles.items() if recipe.roles else ():
        if role.kv_events is not None and not publishes(plan, mode):
            yield f"roles.{mode}.kv_events: cache events of the engine {plan.engine}"


def publishes(plan: Plan, mode: str) -> bool:
    """Whether a worker of the role is told to tell its cache events."""
    argv = [step.command.argv for step in plan.steps if step.kind == "worker" and step.mode == mode]
    said = " ".join(word for words in argv for word in words)
    return any(flag in said for flag in EVENTS_FLAGS)


def _services(plan: Plan) -> Iterator[str]:
    for section in plan.resolved.services:
        if section.enabled and section.source is not None:
            yield f"services.{section.name}.source: {left_out(ServiceSection, 'source')}"


def _job(plan: Plan) -> Iterator[str]:
    recipe, cluster = plan.resolved, plan.cluster
    benchmark = BENCHMARKS[recipe.benchmark.type]
    yield from benchmark.unsupported(asked(recipe.benchmark).options)
    if plan.launcher == "local" and any(step.tasks > 1 for step in plan.steps):
        yield f"engine {plan.engine}: one launch over all ranks of a worker, without Slurm"
    if plan.deployment.registering:
        yield f"engine.connector moriio: {left_out(VllmOptions, 'connector')}"
    source = recipe.dynamo.source if plan.frontend == "dynamo" and recipe.dynamo.install else None
    patched = source is not None and bool(source.patches) and cluster.container_runtime == "pyxis"
    from_hub = recipe.model.stage_dir is not None and plan.deployment.model_source is None
    options = asked(recipe.benchmark).options
    in_image = option(options, "container_image") is not None
    # Whether it is wanted, and the section at whose key the mark stands.
    wanted: dict[str, tuple[bool, type[BaseModel]]] = {
        "profiling.type": (recipe.profiling.type != "none", ProfilingSection),
        "observability.tachometer": (recipe.observability.scrapes, ObservabilitySection),
        "observability.nsys": (bool(recipe.observability.nsys), ObservabilitySection),
        "telemetry.enabled": (recipe.telemetry.enabled, TelemetrySection),
        "model.stage_dir": (from_hub, ModelSection),
        "benchmark.container_image": (in_image and cluster.container_runtime == "pyxis", type(options)),
        "dynamo.source.patches": (patched, DynamoSource),
        "reporting": (recipe.reporting is not None, Recipe),
        "dynamo.top_of_tree": (recipe.dynamo.top_of_tree, DynamoSection),
    }
    for key, (asked_for, section) in wanted.items():
        if asked_for:
            yield f"{key}: {left_out(section, key.rpartition('.')[2])}"
