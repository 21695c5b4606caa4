"""What is asked of Slurm, in the words of the executor plugin."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from servesweep.plan.directives import Directives, over, read_directives, word
from servesweep.plan.plan import SlurmRequest
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.recipe import Recipe

# The plugin runs a rule straight in the batch step, and not under an srun of one task, only when it has
# `mpi` and more than one task: snakemake-executor-plugin-slurm 2.8, `submit_string.py`.
FEWEST_TASKS = 2
# The executor has no word for all memory of a node; the quotes keep it from taking this for its own option.
WHOLE_MEMORY = "--mem''=0"


def directives_of(recipe: Recipe, cluster: Cluster) -> Mapping[str, str]:
    """The recipe's directives over those of the cluster file."""
    return over(cluster.default_sbatch_directives, recipe.sbatch_directives)


def slurm_request(
    recipe: Recipe, cluster: Cluster, nodes: int, gpus_per_node: int, het: tuple[int, int] | None = None
) -> SlurmRequest:
    """Whole-node shares of the GPUs, and the recipe's or the cluster's limits.

    GPUs go through `slurm_extra`: as the plugin's own resource they become --ntasks-per-gpu. `het` are the
    nodes of the prefill and the decode component of a heterogeneous job.
    """
    asked = read_directives(directives_of(recipe, cluster))
    account = recipe.slurm.account or asked.account or cluster.default_account
    partition = recipe.slurm.partition or asked.partition or cluster.default_partition
    runtime = recipe.slurm.time_limit or asked.minutes or cluster.default_time_limit
    cpus = -(-_cpus(asked, cluster, gpus_per_node) // FEWEST_TASKS)
    memory = None if asked.whole_memory else asked.mem_mb or cluster.mem_mb_per_node
    words = _words(asked, cluster, gpus_per_node, het[0] if het else nodes)
    if het is not None:
        # Attached, or broken by quotes: written plainly they are options that the executor owns.
        own = {
            "-A": account,
            "-p": partition,
            "-C": asked.constraint,
            "--qos''=": asked.qos,
            "--mem''=": memory,
            "--gres''=": asked.gres,
        }
        second = [f"{option}{shlex.quote(str(value))}" for option, value in own.items() if value]
        # The executor would write it behind the colon alone.
        words += second[-1:] if asked.gres else []
        tasks = [f"--ntasks-per-node={FEWEST_TASKS}", f"-c{cpus}"]
        words += [":", f"-N{het[1]}", *second, f"-t{runtime}", *tasks]
        words += _words(asked, cluster, gpus_per_node, het[1])
    return SlurmRequest(
        nodes=het[0] if het else nodes,
        tasks_per_node=FEWEST_TASKS,
        cpus_per_task=cpus,
        runtime=runtime,
        mem_mb=memory,
        slurm_account=account,
        slurm_partition=partition,
        slurm_extra=" ".join(words),
        constraint=asked.constraint,
        qos=asked.qos,
        gres=None if het else asked.gres,
        comment=asked.comment,
    )


def _words(asked: Directives, cluster: Cluster, gpus_per_node: int, nodes: int) -> list[str]:
    words = []
    if asked.gpus_per_node is not None or cluster.use_gpus_per_node_directive:
        words.append(word("gpus-per-node", asked.gpus_per_node or str(gpus_per_node)))
    if cluster.use_segment_sbatch_directive and not asked.segment:
        words.append(f"--segment={nodes}")
    if cluster.use_exclusive_sbatch_directive and not asked.exclusive:
        words.append("--exclusive")
    return words + asked.words + ([WHOLE_MEMORY] if asked.whole_memory else [])


def _cpus(asked: Directives, cluster: Cluster, gpus_per_node: int) -> int:
    """CPUs of a node, at least one a task."""
    by_gpu = gpus_per_node * (asked.cpus_per_gpu or cluster.cpus_per_gpu)
    return max(FEWEST_TASKS, asked.cpus_per_node or by_gpu)


def sbatch_words(slurm: SlurmRequest) -> list[str]:
    """What the executor asks of sbatch for a request, in its order, without what it adds for itself."""
    words = [f"-A {slurm.slurm_account}"] if slurm.slurm_account else []
    words += [f"-p {slurm.slurm_partition}"] if slurm.slurm_partition else []
    words.append(f"-t {slurm.runtime}")
    words += [f"-C {shlex.quote(slurm.constraint)}"] if slurm.constraint else []
    words += [f"--qos={shlex.quote(slurm.qos)}"] if slurm.qos else []
    words += [f"--mem {slurm.mem_mb}"] if slurm.mem_mb else []
    words += [f"--nodes={slurm.nodes}", f"--ntasks-per-node={slurm.tasks_per_node}"]
    words.append(f"--cpus-per-task={slurm.cpus_per_task}")
    words += [slurm.slurm_extra] if slurm.slurm_extra else []
    return words + ([f"--gres={slurm.gres}"] if slurm.gres else [])
