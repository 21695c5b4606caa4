"""What the language and the plan know, and the runtime of this version cannot do yet."""

from __future__ import annotations

from collections.abc import Iterator

from servesweep.benchmarks import BENCHMARKS
from servesweep.plan.asked import asked
from servesweep.plan.plan import Plan
from servesweep.plan.roles import Role

EVENTS_FLAGS = ("--kv-events-config", "--publish-events-and-metrics")


def unsupported(plan: Plan, roles: list[Role]) -> tuple[str, ...]:
    """One sentence for each feature that a run would have to leave out; none is left out silently."""
    engines = [feature for role in roles for feature in role.engine.unsupported(role.options)]
    return tuple(dict.fromkeys([*_roles(plan), *engines, *_services(plan), *_job(plan)]))


def _roles(plan: Plan) -> Iterator[str]:
    recipe = plan.resolved
    for mode, role in recipe.roles.items() if recipe.roles else ():
        if role.restart.policy != "never":
            yield f"roles.{mode}.restart: relaunching a worker"
        argv = [step.command.argv for step in plan.steps if step.kind == "worker" and step.mode == mode]
        said = " ".join(word for words in argv for word in words)
        if role.kv_events is not None and not any(flag in said for flag in EVENTS_FLAGS):
            yield f"roles.{mode}.kv_events: cache events of the engine {plan.engine}"


def _services(plan: Plan) -> Iterator[str]:
    for section in plan.resolved.services:
        if section.enabled and section.source is not None:
            yield f"services.{section.name}.source: fetching and building a service"


def _job(plan: Plan) -> Iterator[str]:
    recipe, cluster = plan.resolved, plan.cluster
    benchmark = BENCHMARKS[recipe.benchmark.type]
    yield from benchmark.unsupported(asked(recipe.benchmark).options)
    if plan.launcher == "local" and any(step.tasks > 1 for step in plan.steps):
        yield f"engine {plan.engine}: one launch over all ranks of a worker, without Slurm,"
    if plan.deployment.registering:
        yield "engine.connector moriio: workers that register with their router"
    source = recipe.dynamo.source if plan.frontend == "dynamo" and recipe.dynamo.install else None
    patched = source is not None and bool(source.patches) and cluster.container_runtime == "pyxis"
    from_hub = recipe.model.stage_dir is not None and plan.deployment.model_source is None
    in_image = getattr(asked(recipe.benchmark).options, "container_image", None) is not None
    wanted = {
        "profiling.type: tracing the engines": recipe.profiling.type != "none",
        "observability.tachometer: scraping metrics": recipe.observability.scrapes,
        "observability.nsys: tracing every process": bool(recipe.observability.nsys),
        "telemetry.enabled: sampling power": recipe.telemetry.enabled,
        "model.stage_dir: copying a model of the hub": from_hub,
        "benchmark.container_image: a client in a container": in_image
        and cluster.container_runtime == "pyxis",
        "dynamo.source.patches: patching the source": patched,
        "post_eval: a command after the load": recipe.post_eval is not None,
        "reporting: telling others about the run": recipe.reporting is not None,
        "dynamo.top_of_tree: building Dynamo": recipe.dynamo.top_of_tree,
    }
    yield from (feature for feature, asked in wanted.items() if asked)
