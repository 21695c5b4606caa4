"""What is asked of Slurm, in the words of the executor plugin."""

from __future__ import annotations

from servesweep.plan.plan import SlurmRequest
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.recipe import Recipe

# The plugin runs a rule straight in the batch step, and not under an srun of one task, only when it has
# `mpi` and more than one task: snakemake-executor-plugin-slurm 2.8, `submit_string.py`.
FEWEST_TASKS = 2


def slurm_request(recipe: Recipe, cluster: Cluster, nodes: int, gpus_per_node: int) -> SlurmRequest:
    """Whole-node shares of the GPUs, and the recipe's or the cluster's limits.

    GPUs go through `slurm_extra`: as the plugin's own resource they become --ntasks-per-gpu.
    """
    extra = []
    if cluster.use_gpus_per_node_directive:
        extra.append(f"--gpus-per-node={gpus_per_node}")
    if cluster.use_exclusive_sbatch_directive:
        extra.append("--exclusive")
    cpus = max(FEWEST_TASKS, gpus_per_node * cluster.cpus_per_gpu)
    return SlurmRequest(
        nodes=nodes,
        tasks_per_node=FEWEST_TASKS,
        cpus_per_task=-(-cpus // FEWEST_TASKS),
        runtime=recipe.slurm.time_limit or cluster.default_time_limit,
        mem_mb=cluster.mem_mb_per_node,
        slurm_account=recipe.slurm.account or cluster.default_account,
        slurm_partition=recipe.slurm.partition or cluster.default_partition,
        slurm_extra=" ".join(extra),
    )
