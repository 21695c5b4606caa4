"""The plan: everything about a configuration that is known before it runs. `plan.json` is this, as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from servesweep.recipe.cluster import Cluster
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.services import Start
from servesweep.topology.deployment import Census, Command, Deployment, Endpoint, Probe, Readiness, Value

PLAN_SCHEMA: Literal[1] = 1


class Step(Value):
    """One process of the deployment."""

    name: str = Field(description="Unique within the plan: etcd, train_n1, prefill_0, agg_0_r1, frontend_0.")
    kind: Literal["service", "worker", "frontend"] = Field(description="What the process is.")
    mode: str | None = Field(default=None, description="Role of a worker.")
    service: str | None = Field(default=None, description="The service that this is an instance of.")
    index: int = Field(default=0, description="Number of the worker in its role, or of the instance.")
    rank: int = Field(default=0, description="Number of the process within the worker.")
    engine: int = Field(
        default=0, description="Number of the engine among those on the worker's GPUs; 0 serves first."
    )
    node: str = Field(description="Symbolic node; of a step over several, that of rank 0.")
    nodes: tuple[str, ...] = Field(
        default=(), description="All nodes of a step over several, in the order of ranks; else empty."
    )
    tasks: int = Field(default=1, ge=1, description="Processes that the launch starts over its nodes.")
    shares: tuple[int, ...] = Field(default=(), description="How many of them on each of `nodes`.")
    gpus: tuple[int, ...] = Field(default=(), description="GPUs of the node that the process sees.")
    command: Command = Field(description="What is started.")
    probe: Probe | None = Field(default=None, description="How readiness is asked.")
    after: tuple[str, ...] = Field(
        default=(), description="Steps of the same kind that are ready before this one is started."
    )
    readiness: Readiness | None = Field(default=None, description="When a service counts as ready.")
    start: Start | None = Field(default=None, description="When a service is started.")
    terminal: bool = Field(default=False, description="The job ends with the last service of this kind.")
    after_workers: bool = Field(default=False, description="Start it once every worker is ready.")
    critical: bool = Field(default=True, description="Whether its exit ends the run.")
    image: str | None = Field(default=None, description="Container image; None: it runs bare.")
    mounts: dict[str, str] = Field(default_factory=dict, description="Host path to path in the container.")
    preamble: str | None = Field(
        default=None, description="Shell text that runs before the command, in its process."
    )
    srun_options: dict[str, str] = Field(default_factory=dict, description="Options of its srun step.")
    log: str = Field(description="Log file below the log directory; {host} is the node's real name.")


class Node(Value):
    """One node of the allocation and what stands on it."""

    name: str = Field(description="Symbolic node, n0 first.")
    holds: tuple[str, ...] = Field(description="head, client, infra, and the steps placed on it.")


class Topology(Value):
    """The computed properties of the layout."""

    is_disaggregated: bool = Field(description="Prefill and decode roles instead of agg.")
    total_nodes: int = Field(description="Nodes asked of Slurm.")
    gpus_per_node: int = Field(description="GPUs of a node.")
    total_gpus: int = Field(description="GPUs that workers hold: the denominator of per-GPU numbers.")
    num_prefill: int = Field(description="Prefill workers.")
    num_decode: int = Field(description="Decode workers.")
    num_agg: int = Field(description="Aggregated workers.")
    gpus_per_prefill: int = Field(description="GPUs of a prefill worker.")
    gpus_per_decode: int = Field(description="GPUs of a decode worker.")
    gpus_per_agg: int = Field(description="GPUs of an aggregated worker.")
    prefill_gpus: int = Field(description="GPUs of all prefill workers.")
    decode_gpus: int = Field(description="GPUs of all decode workers.")
    agg_gpus: int = Field(description="GPUs of all aggregated workers.")


class SlurmRequest(Value):
    """What is asked of Slurm, in the executor's own resources."""

    nodes: int = Field(description="Nodes.")
    tasks_per_node: int = Field(
        description="Tasks on each node; at least 2, which keeps the rule in the batch step."
    )
    cpus_per_task: int = Field(description="CPUs of a task.")
    runtime: int = Field(description="Time limit, minutes.")
    mem_mb: int | None = Field(default=None, description="Memory of a node, MB.")
    slurm_account: str | None = Field(default=None, description="Account.")
    slurm_partition: str | None = Field(default=None, description="Partition.")
    slurm_extra: str = Field(default="", description="Further words of sbatch.")
    constraint: str | None = Field(default=None, description="Features that the nodes must have.")
    qos: str | None = Field(default=None, description="Quality of service.")
    gres: str | None = Field(default=None, description="A generic resource that is no GPU.")
    comment: str | None = Field(
        default=None, description="Comment of the job, which the run sets itself once it has begun."
    )


class PlannedPoint(Value):
    """One load level and its identity."""

    id: str = Field(description="Name of the point.")
    concurrency: int | None = Field(default=None, description="Requests in flight at most.")
    request_rate: float | str | None = Field(default=None, description='Requests per second, or "inf".')
    repeat: int = Field(default=0, description="Number of the repetition.")
    digest: str = Field(description="Identity of the numbers: deployment, load and version of the result.")


class PlannedService(Value):
    """One service of the job."""

    name: str = Field(description="Unique in the job.")
    type: str = Field(description="Kind of service.")
    implied: bool = Field(default=False, description="It follows from what the recipe uses.")
    nodes: int = Field(default=0, description="Size of the pool of whole nodes that it owns.")
    place: str = Field(default="head", description="A node, a role, or the pool that it stands on.")
    on: tuple[str, ...] = Field(default=(), description="Symbolic nodes of its instances.")
    external: str | None = Field(default=None, description="Address of one that runs already.")


class Plan(Value):
    """One configuration, resolved."""

    schema_: Literal[1] = Field(default=PLAN_SCHEMA, alias="schema", description="Version of this file.")
    configuration: str = Field(description="Id: unique, file-name safe, stable.")
    name: str = Field(description="The recipe's name for it.")
    recipe: str = Field(description="The recipe file as it was given.")
    variant: str | None = Field(default=None, description="The variant within the file.")
    digest: str = Field(description="Identity of the configuration.")
    deployment_digest: str = Field(description="Identity of what is measured, without its load.")
    served_model: str = Field(description="Name under which the model is served.")
    engine: str = Field(description="Engine, or the engines of the roles joined by +.")
    frontend: str = Field(description="Frontend.")
    launcher: Literal["local", "slurm"] = Field(description="How processes are started.")
    gpu_type: str | None = Field(default=None, description="GPU model.")
    topology: Topology = Field(description="Computed properties.")
    nodes: tuple[Node, ...] = Field(description="Node map.")
    client: str = Field(description="Node of the benchmark client.")
    public: Endpoint | None = Field(default=None, description="The public API.")
    expected: Census = Field(description="Workers that the frontend must know before anything is measured.")
    slurm: SlurmRequest = Field(description="What is asked of Slurm.")
    steps: tuple[Step, ...] = Field(description="Processes in the order of their start.")
    points: tuple[PlannedPoint, ...] = Field(description="Load levels, in order.")
    services: tuple[PlannedService, ...] = Field(
        default=(), description="Declared and implied services, also those that are not started here."
    )
    notes: tuple[str, ...] = Field(default=(), description="What a reader should know about this plan.")
    unsupported: tuple[str, ...] = Field(
        default=(), description="What is planned but cannot be run by this version."
    )
    settings: tuple[str, ...] = Field(
        default=(), description="Values that were set from the command line over the recipe's."
    )
    deployment: Deployment = Field(description="The facts that commands were rendered from.")
    resolved: Recipe = Field(description="The resolved recipe.")
    cluster: Cluster = Field(description="The cluster file.")


# What is found out about the symbolic plan, and stays as it is when the plan is bound to real nodes.
JUDGED = ("notes", "services", "unsupported", "settings", "slurm", "nodes")


class PlanError(Exception):
    """A plan file that cannot be used; its text is one sentence."""


def read_plan(path: Path) -> Plan:
    """Read a plan file.

    Raises:
        PlanError: where it is missing, or not a plan of this version.
    """
    try:
        return Plan.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise PlanError(f"{path}: no such plan; `snakemake plan` writes it") from None
    except (OSError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise PlanError(
            f"{path}: not a plan of this version ({first}); delete it and run `snakemake plan`"
        ) from None


def plan_text(plan: Plan) -> str:
    """The plan as it stands in plan.json."""
    return plan.model_dump_json(indent=1, by_alias=True) + "\n"
