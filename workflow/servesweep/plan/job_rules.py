"""What the sections of one job may not combine: placement, telemetry, profiling, heterogeneous jobs."""

from __future__ import annotations

from collections.abc import Iterator

from servesweep.frontends import FRONTENDS
from servesweep.plan.directives import read_directives
from servesweep.plan.layout import colocates
from servesweep.plan.roles import Role, gpus_per_node
from servesweep.plan.services import discovery_spot, pools
from servesweep.plan.srun_options import srun_faults
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.limits import MOST_GPUS, MOST_NODES
from servesweep.recipe.problems import Problem, listed
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.variants import Variant
from servesweep.topology.shapes import reserved_nodes

Fault = tuple[tuple[str | int, ...], str]


def job_problems(
    recipe: Recipe, cluster: Cluster, frontend: FrontendSection, roles: list[Role], variant: Variant
) -> list[Problem]:
    """Every rule of this file, in order."""
    faults = [
        *_size(recipe, roles, gpus_per_node(recipe, cluster)),
        *_placement(recipe, frontend, roles),
        *_telemetry(recipe),
        *_profiling(recipe, roles),
        *_het(recipe, frontend, roles, gpus_per_node(recipe, cluster)),
        *_directives(recipe),
        *_nodes_of_components(recipe, cluster, frontend, roles),
        *srun_faults(recipe),
    ]
    return [variant.problem(key, message) for key, message in faults]


def _size(recipe: Recipe, roles: list[Role], per_node: int) -> Iterator[Fault]:
    """Nobody means a job beyond any cluster, and no plan could hold it."""
    nodes = reserved_nodes([role.shape for role in roles]) + sum(pools(recipe).values())
    at = ("roles",) if recipe.roles else ("replicas",) if recipe.replicas else ("services",)
    if nodes > MOST_NODES:
        yield at, f"the job has {nodes} nodes together, and a job has at most {MOST_NODES}"
    elif nodes * per_node > MOST_GPUS:
        told = f"{nodes} nodes of {per_node} GPUs are {nodes * per_node} GPUs"
        yield at, f"{told}, and a job has at most {MOST_GPUS}"


def _placement(recipe: Recipe, frontend: FrontendSection, roles: list[Role]) -> Iterator[Fault]:
    kind = FRONTENDS.get(frontend.type)
    if frontend.placement.node == "dedicated" and kind is not None and not kind.starts:
        message = f"{frontend.type} starts no process, so a node of its own would carry nothing: remove it"
        yield ("frontend", "placement", "node"), message
    if any(role.mode == "decode" for role in roles):
        return
    spots = {"frontend": frontend.placement.node, "benchmark": recipe.benchmark.placement.node}
    for section, spot in spots.items():
        if spot in ("first_decode", "last_decode"):
            yield (section, "placement", "node"), f"{spot} needs a decode role, and this recipe has none"


def _telemetry(recipe: Recipe) -> Iterator[Fault]:
    if not recipe.telemetry.enabled:
        return
    if recipe.benchmark.placement.node != "head":
        yield (
            ("benchmark", "placement", "node"),
            f"telemetry needs the client on head, and it is on {recipe.benchmark.placement.node}",
        )
    if recipe.benchmark.type != "sa-bench":
        yield (
            ("telemetry", "enabled"),
            f"power is told for the points of sa-bench, and the benchmark is {recipe.benchmark.type}",
        )
    if discovery_spot(recipe) == "dedicated":
        yield ("telemetry", "enabled"), "telemetry needs the discovery plane on head, and it has its own node"


def _profiling(recipe: Recipe, roles: list[Role]) -> Iterator[Fault]:
    profiling = recipe.profiling
    if profiling.type == "none":
        return
    modes = [role.mode for role in roles]
    if profiling.type != "nsys-time":
        wanted = ["aggregated" if mode == "agg" else mode for mode in modes]
        for phase in ("prefill", "decode", "aggregated"):
            given = getattr(profiling, phase) is not None
            if given and phase not in wanted:
                have = f"its roles are {listed(modes)}" if modes else "it has no roles"
                yield ("profiling", phase), f"this recipe has no such workers: {have}"
            if not given and phase in wanted:
                yield ("profiling", "type"), f"the steps of {phase} are missing: say profiling.{phase}"
    for role in roles:
        if profiling.type in role.engine.unprofiled_by:
            yield ("profiling", "type"), f"{profiling.type} does not profile {role.engine.name}: use nsys"


def het_wanted(recipe: Recipe, cluster: Cluster, frontend: FrontendSection, roles: list[Role]) -> bool:
    """Whether prefill and decode are components of a heterogeneous job.

    The recipe decides; where it says nothing the cluster's use_het_jobs does, for the jobs that can be.
    """
    if recipe.resources.het_jobs is not None:
        return recipe.resources.het_jobs
    own = recipe.roles is not None and recipe.engine is None
    per_node = gpus_per_node(recipe, cluster)
    excluded = next(_excludes_het(recipe, frontend, roles, per_node), None) is not None
    return cluster.use_het_jobs and not own and not excluded


def _het(recipe: Recipe, frontend: FrontendSection, roles: list[Role], per_node: int) -> Iterator[Fault]:
    if recipe.resources.het_jobs:
        for message in _excludes_het(recipe, frontend, roles, per_node):
            yield ("resources", "het_jobs"), message


def _nodes_of_components(
    recipe: Recipe, cluster: Cluster, frontend: FrontendSection, roles: list[Role]
) -> Iterator[Fault]:
    named = "nodelist" in recipe.sbatch_directives
    if named and het_wanted(recipe, cluster, frontend, roles):
        message = "each component of a heterogeneous job would ask for these nodes: use constraint"
        yield ("sbatch_directives", "nodelist"), message


def _excludes_het(
    recipe: Recipe, frontend: FrontendSection, roles: list[Role], per_node: int
) -> Iterator[str]:
    if [role.mode for role in roles] != ["prefill", "decode"]:
        yield "a heterogeneous job has a component each for prefill and decode, and this recipe has not both"
    elif any(role.shape.nodes == "colocate" for role in roles) or colocates(roles, per_node):
        yield "decode colocates with prefill, so there is no second component for a heterogeneous job"
    if frontend.placement.node == "dedicated" or recipe.benchmark.placement.node == "dedicated":
        yield "a heterogeneous job has no node for a dedicated frontend or client"
    if any(service.enabled and service.nodes for service in recipe.services):
        yield "a heterogeneous job has no component for the pools of services"


def _directives(recipe: Recipe) -> Iterator[Fault]:
    for name, message in read_directives(recipe.sbatch_directives).faults:
        yield ("sbatch_directives", name), message
    for directive, key in (("account", "account"), ("partition", "partition"), ("time", "time_limit")):
        if directive in recipe.sbatch_directives and getattr(recipe.slurm, key) is not None:
            yield ("sbatch_directives", directive), f"slurm.{key} says it already: keep one of them"
