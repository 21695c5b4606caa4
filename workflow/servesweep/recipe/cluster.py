"""The cluster file: facts of a site that no recipe repeats."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from servesweep.recipe.section import Environment, Section, SlurmOptions
from servesweep.recipe.slurm import TimeLimit


class Cluster(Section):
    """Defaults, aliases and the way processes are started."""

    cluster: str = Field(default="local", description="Name of the cluster, recorded in the lockfile.")
    launcher: Literal["local", "slurm"] = Field(
        default="slurm",
        description="`slurm` starts one srun step a process, `local` processes on this machine.",
    )
    container_runtime: Literal["none"] = Field(default="none", description="`none` runs everything bare.")
    default_account: str | None = Field(
        default=None, description="Slurm account where the recipe names none."
    )
    default_partition: str | None = Field(
        default=None, description="Slurm partition where the recipe names none."
    )
    default_time_limit: TimeLimit = Field(
        default=60, validate_default=False, description="Time limit where the recipe names none."
    )
    default_gpu_type: str | None = Field(default=None, description="GPU model where the recipe names none.")
    gpus_per_node: int = Field(default=8, ge=1, description="GPUs of a node where the recipe names none.")
    cpus_per_gpu: int = Field(default=1, ge=1, description="CPUs asked of Slurm for each GPU of a node.")
    mem_mb_per_node: int | None = Field(
        default=None, ge=1, description="Memory asked of Slurm on each node; unset: what the partition gives."
    )
    use_gpus_per_node_directive: bool = Field(
        default=True, description="Ask Slurm for GPUs; off where they are no resource."
    )
    use_exclusive_sbatch_directive: bool = Field(default=False, description="Ask Slurm for whole nodes.")
    visible_devices_env: str = Field(
        default="CUDA_VISIBLE_DEVICES",
        description="Variable that tells a process which GPUs of the node are its own.",
    )
    model_paths: dict[str, str] = Field(default_factory=dict, description="Aliases of model directories.")
    environment: Environment = Field(
        default_factory=dict, description="Environment of every process on this cluster."
    )
    srun_options: SlurmOptions = Field(
        default_factory=dict, description="Options of every srun step on this cluster."
    )
