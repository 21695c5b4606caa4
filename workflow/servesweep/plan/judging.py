"""A rendered plan, with all that a reader must know about it before it runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from servesweep.plan.asked import asked
from servesweep.plan.configuration import Configuration, images_of
from servesweep.plan.job_rules import het_wanted
from servesweep.plan.likely_mistakes import likely_mistakes
from servesweep.plan.no_effect import no_effect
from servesweep.plan.parallel_sizes import uneven
from servesweep.plan.plan import Plan, SlurmRequest
from servesweep.plan.render import render_with_roles
from servesweep.plan.roles import Role
from servesweep.plan.slurm_request import slurm_request
from servesweep.plan.unsupported import unsupported
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.problems import RecipeError, listed, nearest
from servesweep.recipe.recipe import Recipe
from servesweep.topology.deployment import changed, step_name

# Keys of a cluster file that other programs read.
ELSEWHERE = (
    "network_interface", "output_dir", "srtctl_root", "cloud", "reporting", "telemetry",
    "default_gpu_exporter", "git_http_version", "docker_args",
)  # fmt: skip

# With a type or without: `--gpus-per-node=h100:4`.
GPUS_ASKED = re.compile(r"--gpus-per-node=(?:[^ :]+:)?(\d+)")


def plan_configuration(configuration: Configuration, settings: tuple[str, ...] = ()) -> Plan:
    """Render a configuration for symbolic nodes, and say what is odd, idle or cannot be run.

    Raises:
        RecipeError: as `render`.
    """
    plan, roles = render_with_roles(configuration)
    recipe, cluster = configuration.recipe, configuration.cluster
    if (request := _request(plan, configuration, roles)) is not plan.slurm:
        plan = changed(plan, slurm=request)
    told = [*plan.notes, *uneven(roles), *_notes(plan, recipe, cluster), *no_effect(plan, roles)]
    notes = tuple(dict.fromkeys([*told, *likely_mistakes(plan, roles)]))
    return changed(plan, notes=notes, unsupported=unsupported(plan, roles), settings=settings)


def _request(plan: Plan, configuration: Configuration, roles: list[Role]) -> SlurmRequest:
    """The request; prefill and decode are components of their own in a heterogeneous job.

    Raises:
        RecipeError: where that was asked for, and a worker would lie in both, or in the wrong one.
    """
    recipe, cluster = configuration.recipe, configuration.cluster
    if not het_wanted(recipe, cluster, recipe.frontend or FrontendSection(), roles):
        return plan.slurm
    decode = sum(
        role.shape.nodes for role in roles if role.mode == "decode" and role.shape.nodes != "colocate"
    )
    total = len(plan.nodes)
    first = {node.name for node in plan.nodes[: total - decode]}
    for process in plan.deployment.processes:
        inside = {node in first for node in process.worker_nodes}
        if inside != {process.mode == "prefill"}:
            if not recipe.resources.het_jobs:
                return plan.slurm
            which = "both components" if len(inside) > 1 else "the other role's component"
            message = f"{step_name(process)} lies in {which} of the heterogeneous job: give its role"
            problem = configuration.variant.problem(
                ("roles", process.mode, "nodes"), f"{message} the nodes that its workers take"
            )
            raise RecipeError([problem])
    per_node = plan.topology.gpus_per_node
    return slurm_request(recipe, cluster, total, per_node, het=(total - decode, decode))


def _notes(plan: Plan, recipe: Recipe, cluster: Cluster) -> Iterator[str]:
    for point, count in Counter(load.id for load, _ in asked(recipe.benchmark).loads).items():
        if count > 1:
            yield f"the point {point} is given {count} times and measured once"
    if plan.launcher == "slurm":
        yield from _request_notes(plan, recipe)
    yield from _alias_notes(recipe, cluster)
    if plan.launcher == "local" and recipe.frontend and recipe.frontend.enable_multiple_frontends:
        yield "frontend.enable_multiple_frontends has no effect: one machine has one frontend"
    if cluster.container_runtime == "none":
        if recipe.container_mounts or recipe.extra_mount:
            yield "mounts are not used: container_runtime is none, so processes see the nodes' own files"
        if recipe.dynamo.source is not None and plan.frontend == "dynamo":
            yield "dynamo.source is not installed: without containers the environment's own Dynamo runs"
    if any(service.metrics for service in recipe.services):
        yield "metrics of services are not scraped by this version"
    if not recipe.enable_config_dump:
        yield "enable_config_dump has no effect: engines that can do it write their configuration to the logs"
    if recipe.output is not None:
        yield "output.log_dir has no effect: logs lie in results/<configuration>/logs"
    yield from _site_notes(cluster, _engine_images(recipe))


def _engine_images(recipe: Recipe) -> list[str | None]:
    """The images of workers that a recipe names."""
    roles = [role.container for _, role in recipe.roles.items()] if recipe.roles else []
    return [recipe.model.container, *roles]


def _site_notes(cluster: Cluster, images: Sequence[str | None]) -> Iterator[str]:
    """What a cluster file of srt-slurm says that means something else here, or nothing."""
    unread = [key for key in ELSEWHERE if key in cluster.model_fields_set]
    if unread:
        have = "has" if len(unread) == 1 else "have"
        yield f"the cluster file's {listed(unread)} {have} no effect here"
    unset = "container_runtime" not in cluster.model_fields_set and cluster.launcher == "slurm"
    if (cluster.containers or any(images)) and unset:
        yield (
            "container_runtime is unset, so images are not used and processes run bare; for containers say"
            " container_runtime: pyxis in the cluster file"
        )


def _alias_notes(recipe: Recipe, cluster: Cluster) -> Iterator[str]:
    """A bare name that no alias has may be a misspelt one."""
    path, aliases = recipe.model.path, cluster.model_paths
    if aliases and path not in aliases and "/" not in path and not path.startswith("hf:"):
        guess = nearest(path, aliases)
        hint = f"; did you mean {guess}?" if guess else ""
        yield f"model.path {path!r} is no alias of the cluster file, and taken for a directory{hint}"
    if cluster.container_runtime == "none" or not cluster.containers:
        return
    for image in images_of(recipe):
        # Tags, digests and paths are an image's own; an alias is a plain word.
        if image not in cluster.containers and not set(image) & set("/:#@"):
            guess = nearest(image, cluster.containers)
            hint = f"; did you mean {guess}?" if guess else ""
            yield f"the image {image!r} is no alias of the cluster file, and taken as it is{hint}"


def _request_notes(plan: Plan, recipe: Recipe) -> Iterator[str]:
    slurm = plan.slurm
    held: Counter[str] = Counter()
    for step in plan.steps:
        if step.kind == "worker" and not step.engine:
            held[step.node] += len(step.gpus)
    cpus, gpus = slurm.tasks_per_node * slurm.cpus_per_task, max(held.values(), default=0)
    if cpus < gpus and "--exclusive" not in slurm.slurm_extra:
        yield f"{cpus} CPUs of a node are asked for {gpus} GPUs: at least one a GPU keeps engines fed"
    few = GPUS_ASKED.search(slurm.slurm_extra)
    if few is not None and int(few[1]) < gpus:
        yield f"{few[1]} GPUs of a node are asked of Slurm, and the workers on one have {gpus}"
    patience = recipe.health_check.timeout_seconds
    if patience >= slurm.runtime * 60:
        told = f"the health gate may wait {patience:g} s, and the time limit is {slurm.runtime * 60} s"
        yield f"{told}: raise slurm.time_limit, or lower health_check.max_attempts"


def gpu_hours(plan: Plan) -> float:
    """GPU-hours that the request reserves at most: nodes x GPUs of a node x time limit; 0 without Slurm."""
    if plan.launcher == "local":
        return 0.0
    return len(plan.nodes) * plan.topology.gpus_per_node * plan.slurm.runtime / 60
