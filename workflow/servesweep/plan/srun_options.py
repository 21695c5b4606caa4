"""`srun_options`: every option reaches the steps it is meant for, or is refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from servesweep.plan.slurm_options import name_fault
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.recipe import Recipe

WHERE = "where a step runs follows from the plan: change the nodes of its role, or a placement"
COUNT = "how many processes a step starts follows from its engine"
LOGS = "the plan sets it: every step has its log below results/<configuration>/logs"
REFUSED = {
    **dict.fromkeys(("nodes", "nodelist", "nodefile", "exclude", "relative"), WHERE),
    "ntasks": COUNT,
    "het-group": "the plan sets it: a role's component follows from resources.het_jobs",
    "jobid": "the plan sets it: steps run in the configuration's own job",
    "job-name": "the plan sets it: a step is found by the name of what it runs",
    **dict.fromkeys(("output", "error", "input"), LOGS),
    "export": "the plan sets it: variables of the run stand under environment",
}

Fault = tuple[tuple[str | int, ...], str]


def srun_faults(recipe: Recipe, cluster: Cluster) -> Iterator[Fault]:
    """Options of the cluster file, the recipe, its roles and its services that no step can take."""
    site = {name: value for name, value in cluster.srun_options.items() if name not in recipe.srun_options}
    for path, message in _faults(("srun_options",), site):
        yield path, f"the cluster file's: {message}"
    yield from _faults(("srun_options",), recipe.srun_options)
    for mode, role in recipe.roles.items() if recipe.roles else ():
        yield from _faults(("roles", mode, "srun_options"), role.srun_options)
    for index, service in enumerate(recipe.services):
        yield from _faults(("services", index, "srun_options"), service.srun_options)


def _faults(path: tuple[str | int, ...], options: Mapping[str, str]) -> Iterator[Fault]:
    for name in options:
        message = name_fault(name, "srun") or REFUSED.get(name)
        if message is not None:
            yield (*path, name), message
