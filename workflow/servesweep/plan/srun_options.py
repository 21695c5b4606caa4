"""`srun_options`: every option reaches the steps it is meant for, or is refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from servesweep.plan.slurm_options import name_fault, value_fault
from servesweep.recipe.recipe import Recipe

WHERE = "where a step runs follows from the plan: change the nodes of its role, or a placement"
COUNT = "how many processes a step starts follows from its engine"
OF_THE_JOB = "steps run inside the job, which alone has it: write it under sbatch_directives"
NO_STEP = "no step of a job can have it"
LOGS = "the plan sets it: every step has its log below results/<configuration>/logs"
REFUSED = {
    **dict.fromkeys(("nodes", "nodelist", "nodefile", "exclude", "relative"), WHERE),
    "ntasks": COUNT,
    "het-group": "the plan sets it: a role's component follows from resources.het_jobs",
    "jobid": "the plan sets it: steps run in the configuration's own job",
    "job-name": "the plan sets it: a step is found by the name of what it runs",
    **dict.fromkeys(("output", "error", "input"), LOGS),
    "export": "the plan sets it: variables of the run stand under environment",
    "container-image": "the plan sets it: an image is named as container, of the model, a role or a service",
    "container-mounts": "the plan sets it: write container_mounts, or extra_mount",
    "pty": "a step has no terminal",
    "multi-prog": "a step runs one program, which follows from the plan",
    **dict.fromkeys(("array", "test-only", "no-allocate", "immediate", "interactive"), NO_STEP),
    **dict.fromkeys(
        (
            "account",
            "partition",
            "qos",
            "reservation",
            "comment",
            "begin",
            "deadline",
            "dependency",
            "priority",
            "licenses",
            "mail-type",
            "mail-user",
            "wckey",
            "hold",
            "reboot",
            "switches",
            "clusters",
        ),
        OF_THE_JOB,
    ),
}

Fault = tuple[tuple[str | int, ...], str]


def srun_faults(recipe: Recipe) -> Iterator[Fault]:
    """Options of the recipe, its roles and its services that no step can take."""
    yield from faults_of(("srun_options",), recipe.srun_options)
    for mode, role in recipe.roles.items() if recipe.roles else ():
        yield from faults_of(("roles", mode, "srun_options"), role.srun_options)
    for index, service in enumerate(recipe.services):
        yield from faults_of(("services", index, "srun_options"), service.srun_options)


def faults_of(path: tuple[str | int, ...], options: Mapping[str, str]) -> Iterator[Fault]:
    """Options at a path that no step can take, each with the reason."""
    for name, value in options.items():
        message = name_fault(name, "srun") or REFUSED.get(name) or value_fault(name, value)
        if message is not None:
            yield (*path, name), message
