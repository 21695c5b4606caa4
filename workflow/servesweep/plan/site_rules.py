"""What the options of a cluster file may not say, told at its own lines."""

from __future__ import annotations

from servesweep.plan.directives import read_directives
from servesweep.plan.srun_options import faults_of
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import Problem, in_order
from servesweep.recipe.variants import Variant

DIRECTIVES = "default_sbatch_directives"


def site_problems(cluster: Cluster, file: Variant) -> list[Problem]:
    """Options of every job and of every step that Slurm, the executor or a step cannot take."""
    faults = [
        ((DIRECTIVES, name), fault)
        for name, fault in read_directives(cluster.default_sbatch_directives).faults
    ]
    return in_order(
        file.problem(path, message)
        for path, message in [*faults, *faults_of(("srun_options",), cluster.srun_options)]
    )
