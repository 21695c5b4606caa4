"""A rendered plan, with all that a reader must know about it before it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from servesweep.benchmarks import BENCHMARKS
from servesweep.plan.configuration import Configuration
from servesweep.plan.job_rules import het_wanted
from servesweep.plan.plan import Node, Plan, PlannedService, SlurmRequest
from servesweep.plan.render import render
from servesweep.plan.roles import Role, resolve_roles
from servesweep.plan.services import pools, services_of
from servesweep.plan.slurm_request import slurm_request
from servesweep.plan.unsupported import unsupported
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.recipe import Recipe

# Keys of a cluster file that other programs read.
ELSEWHERE = (
    "network_interface", "output_dir", "srtctl_root", "cloud", "reporting", "telemetry",
    "default_gpu_exporter", "git_http_version", "docker_args",
)  # fmt: skip


def plan_configuration(configuration: Configuration, settings: tuple[str, ...] = ()) -> Plan:
    """Render a configuration for symbolic nodes, and say what is odd, idle or cannot be run.

    Raises:
        RecipeError: as `render`.
    """
    plan = render(configuration)
    recipe, cluster = configuration.recipe, configuration.cluster
    roles = resolve_roles(recipe, configuration.variant, cluster)
    options = {key: value for role in roles for key, value in role.options if value is not None}
    services = tuple(
        service.model_copy(update={"on": standing(service, plan)})
        for service in services_of(recipe, plan.frontend, options)
    )
    plan = plan.model_copy(
        update={
            "services": services,
            "nodes": tuple(_holding(node, plan, services) for node in plan.nodes),
            "slurm": _request(plan, recipe, cluster, roles),
            "settings": settings,
        }
    )
    notes = dict.fromkeys([*plan.notes, *_notes(plan, recipe, cluster)])
    return plan.model_copy(update={"notes": tuple(notes), "unsupported": unsupported(plan, roles)})


def standing(service: PlannedService, plan: Plan) -> tuple[str, ...]:
    """The symbolic nodes that carry an instance of a service; none where it runs elsewhere."""
    if service.external is not None:
        return ()
    names = [node.name for node in plan.nodes]
    end = len(names) - (plan.resolved.benchmark.placement.node == "dedicated")
    sizes = pools(plan.resolved)
    at = end - sum(sizes.values())
    for name, size in sizes.items():
        if service.place == name:
            return tuple(names[at : at + size])
        at += size
    wanted = {"prefill", "decode", "agg"} if service.place in ("workers", "compute") else {service.place}
    working = {node for p in plan.deployment.processes if p.mode in wanted for node in p.worker_nodes}
    if working or service.place == "all":
        return tuple(name for name in names if name in working or service.place == "all")
    return (plan.deployment.infra if service.place in ("infra", "dedicated") else plan.deployment.head,)


def _holding(node: Node, plan: Plan, services: tuple[PlannedService, ...]) -> Node:
    """A node with the services on it that the plan does not start."""
    started = {step.name for step in plan.steps}
    more = [s.name for s in services if node.name in s.on and s.name not in started]
    return node.model_copy(update={"holds": (*node.holds, *more)}) if more else node


def _request(plan: Plan, recipe: Recipe, cluster: Cluster, roles: list[Role]) -> SlurmRequest:
    """The request; prefill and decode are components of their own in a heterogeneous job."""
    if not het_wanted(recipe, cluster, recipe.frontend or FrontendSection(), roles):
        return plan.slurm
    decode = sum(
        role.shape.nodes for role in roles if role.mode == "decode" and role.shape.nodes != "colocate"
    )
    total = len(plan.nodes)
    per_node = plan.topology.gpus_per_node
    return slurm_request(recipe, cluster, total, per_node, het=(total - decode, decode))


def _notes(plan: Plan, recipe: Recipe, cluster: Cluster) -> Iterator[str]:
    benchmark = BENCHMARKS[recipe.benchmark.type]
    loads = benchmark.loads(benchmark.Options.model_validate(dict(recipe.benchmark.options)))
    for point, count in Counter(load.id for load in loads).items():
        if count > 1:
            yield f"the point {point} is given {count} times and measured once"
    if plan.launcher == "slurm":
        yield from _request_notes(plan, recipe)
    if cluster.container_runtime == "none":
        if recipe.container_mounts or recipe.extra_mount:
            yield "mounts are not used: container_runtime is none, so processes see the nodes' own files"
        if recipe.dynamo.source is not None and plan.frontend == "dynamo":
            yield "dynamo.source is not installed: without containers the environment's own Dynamo runs"
    if not recipe.enable_config_dump:
        yield "enable_config_dump has no effect: engines that can do it write their configuration to the logs"
    if recipe.output is not None:
        yield "output.log_dir has no effect: logs lie in results/<configuration>/logs"
    if recipe.identity is not None:
        yield "identity is written to the lockfile, and not compared with what is found"
    unread = [key for key in ELSEWHERE if key in cluster.model_fields_set]
    if unread:
        yield f"the cluster file's {', '.join(unread)} has no effect here"


def _request_notes(plan: Plan, recipe: Recipe) -> Iterator[str]:
    slurm = plan.slurm
    held: Counter[str] = Counter()
    for step in plan.steps:
        if step.kind == "worker":
            held[step.node] += len(step.gpus)
    cpus, gpus = slurm.tasks_per_node * slurm.cpus_per_task, max(held.values(), default=0)
    if cpus < gpus and "--exclusive" not in slurm.slurm_extra:
        yield f"{cpus} CPUs of a node are asked for {gpus} GPUs: at least one a GPU keeps engines fed"
    patience = recipe.health_check.timeout_seconds
    if patience >= slurm.runtime * 60:
        yield f"the health gate may wait {patience:g} s, and the time limit is {slurm.runtime * 60} s"


def gpu_hours(plan: Plan) -> float:
    """GPU-hours that the request reserves at most: nodes x GPUs of a node x time limit."""
    return len(plan.nodes) * plan.topology.gpus_per_node * plan.slurm.runtime / 60
