"""What the language and the plan know, and the runtime of this version cannot do yet."""

from __future__ import annotations

from collections.abc import Iterator

from servesweep.benchmarks import BENCHMARKS
from servesweep.plan.plan import Plan
from servesweep.plan.roles import Role
from servesweep.services import SERVICES

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
        if role.kv_events is not None and not any(flag in words for words in argv for flag in EVENTS_FLAGS):
            yield f"roles.{mode}.kv_events: cache events of the engine {plan.engine}"
        if role.sidecar or (role.sidecar is None and recipe.dynamo.sidecar):
            yield f"roles.{mode}.sidecar: a sidecar beside each worker"


def _services(plan: Plan) -> Iterator[str]:
    started = {step.name for step in plan.steps if step.kind == "service"}
    for service in plan.services:
        if service.external is not None and service.type in SERVICES:
            continue  # workers and frontends are told its address
        if service.name not in started:
            told = "implied" if service.implied else "declared"
            yield f"services.{service.name}: the {told} service of the type {service.type}"
    for section in plan.resolved.services:
        if section.enabled and section.name in started and not _plain(section.model_fields_set):
            yield f"services.{section.name}: keys beside its placement and options"


def _plain(keys: set[str]) -> bool:
    """Whether a declaration says no more than that a service is there, where, and with which options."""
    return keys <= {"name", "type", "enabled", "placement", "options"}


def _job(plan: Plan) -> Iterator[str]:
    recipe, cluster = plan.resolved, plan.cluster
    if cluster.container_runtime == "pyxis":
        yield "container_runtime: steps in containers"
    if " : " in plan.slurm.slurm_extra:
        yield "resources.het_jobs: a heterogeneous job"
    if any("nginx" in step.name for step in plan.steps):
        yield "frontend.enable_multiple_frontends: nginx before several frontends"
    benchmark = BENCHMARKS[recipe.benchmark.type]
    yield from benchmark.unsupported(benchmark.Options.model_validate(dict(recipe.benchmark.options)))
    if any(step.tasks > 1 for step in plan.steps):
        yield f"engine {plan.engine}: one launch over all ranks of a worker"
    if any(step.after_workers for step in plan.steps):
        yield f"frontend.type {plan.frontend}: a frontend that starts once its workers are ready"
    wanted = {
        "profiling.type: tracing the engines": recipe.profiling.type != "none",
        "observability: traces and metrics": recipe.observability.wanted,
        "telemetry.enabled: sampling power": recipe.telemetry.enabled,
        "host_setup: commands on the bare nodes": recipe.host_setup is not None,
        "setup_script: a script before workers and frontends": recipe.setup_script is not None,
        "model.stage_dir: copying the model to the nodes": recipe.model.stage_dir is not None,
        "post_eval: a command after the load": recipe.post_eval is not None,
        "reporting: telling others about the run": recipe.reporting is not None,
        "dynamo.top_of_tree: building Dynamo": recipe.dynamo.top_of_tree,
    }
    yield from (feature for feature, asked in wanted.items() if asked)
