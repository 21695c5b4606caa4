"""The cluster file: facts of a site that no recipe repeats."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from servesweep.recipe.after_run import ReportingSection
from servesweep.recipe.health_check import HealthCheckSection
from servesweep.recipe.host_setup import HostSetupSection
from servesweep.recipe.limits import MOST_GPUS_OF_A_NODE, MOST_MEGABYTES
from servesweep.recipe.mounts import Mounts
from servesweep.recipe.section import Environment, Section, SlurmOptions, VariableName, Words
from servesweep.recipe.slurm import Account, Partition, TimeLimit
from servesweep.recipe.texts import Line, Text

Price = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Cluster(Section):
    """Defaults, aliases and the way processes are started."""

    cluster: Line = Field(default="local", description="Name of the cluster, recorded in the lockfile.")
    launcher: Literal["local", "slurm"] = Field(
        default="slurm",
        description="`slurm` starts one srun step a process, `local` processes on this machine.",
    )
    container_runtime: Literal["none", "pyxis"] = Field(
        default="none", description="`none` runs everything bare, `pyxis` in containers by srun."
    )
    default_account: Account | None = Field(
        default=None, description="Slurm account where the recipe names none."
    )
    default_partition: Partition | None = Field(
        default=None, description="Slurm partition where the recipe names none."
    )
    default_time_limit: TimeLimit = Field(
        default=60, validate_default=False, description="Time limit where the recipe names none."
    )
    default_gpu_type: Line | None = Field(default=None, description="GPU model where the recipe names none.")
    gpus_per_node: int = Field(
        default=8,
        ge=1,
        le=MOST_GPUS_OF_A_NODE,
        description="GPUs of a node where the recipe names none.",
    )
    gpu_hour_price: dict[Line, Price] = Field(
        default_factory=dict,
        description="GPU model to dollars for an hour of one; the report then tells what tokens cost.",
    )
    cpus_per_gpu: int = Field(
        default=1, ge=1, le=1024, description="CPUs asked of Slurm for each GPU of a node."
    )
    mem_mb_per_node: int | None = Field(
        default=None,
        ge=1,
        le=MOST_MEGABYTES,
        description="Memory asked of Slurm on each node; unset: what the partition gives.",
    )
    use_gpus_per_node_directive: bool = Field(
        default=True, description="Ask Slurm for GPUs; off where they are no resource."
    )
    use_exclusive_sbatch_directive: bool = Field(default=False, description="Ask Slurm for whole nodes.")
    use_segment_sbatch_directive: bool = Field(
        default=False,
        description="Ask Slurm for neighbouring nodes (--segment; Slurm 23.11 with a block topology).",
    )
    use_het_jobs: bool = Field(
        default=False, description="Heterogeneous jobs for prefill and decode where a recipe does not say."
    )
    default_sbatch_directives: SlurmOptions = Field(
        default_factory=dict, description="Directives of every job; the recipe's win."
    )
    default_health_check: HealthCheckSection | None = Field(
        default=None, description="Patience of the health gate where the recipe says nothing."
    )
    default_host_setup: HostSetupSection | None = Field(
        default=None, description="Commands on the bare nodes where the recipe names none."
    )
    nginx_raise_ulimit: bool = Field(
        default=False, description="Raise nginx's limit of open files where a recipe does not say."
    )
    visible_devices_env: VariableName = Field(
        default="CUDA_VISIBLE_DEVICES",
        description="Variable that tells a process which GPUs of the node are its own.",
    )
    model_paths: dict[Line, Line] = Field(default_factory=dict, description="Aliases of model directories.")
    containers: dict[Line, Line] = Field(default_factory=dict, description="Aliases of images.")
    default_mounts: Mounts = Field(
        default_factory=dict, description="Host path to path in every container of this cluster."
    )
    default_bash_preamble: Text | None = Field(
        default=None, description="Shell text run before every command in a container."
    )
    preflight: bool = Field(
        default=True, description="Look on the login node whether what a recipe names exists."
    )
    otela_binary: Line | None = Field(
        default=None, description="OpenTela's program on the nodes; replicas with router opentela need it."
    )
    otela_bootstrap: Line | None = Field(
        default=None, description="Address by which OpenTela finds its peers."
    )
    environment: Environment = Field(
        default_factory=dict, description="Environment of every process on this cluster."
    )
    srun_options: SlurmOptions = Field(
        default_factory=dict, description="Options of every srun step on this cluster."
    )
    network_interface: str | None = Field(
        default=None, description="Read for compatibility: addresses are those that Slurm knows."
    )
    output_dir: str | None = Field(
        default=None, description="Read for compatibility: results lie where the workflow runs."
    )
    srtctl_root: str | None = Field(default=None, description="Read for compatibility, without effect.")
    cloud: dict[str, Any] | None = Field(default=None, description="Read for compatibility, without effect.")
    reporting: ReportingSection | None = Field(
        default=None, description="Read for compatibility, without effect."
    )
    telemetry: dict[str, Any] | None = Field(
        default=None, description="Read for compatibility, without effect."
    )
    default_gpu_exporter: str | None = Field(
        default=None, description="Read for compatibility, without effect."
    )
    git_http_version: str | None = Field(default=None, description="Read for compatibility, without effect.")
    docker_args: Words = Field(default=(), description="Read for compatibility, without effect.")
