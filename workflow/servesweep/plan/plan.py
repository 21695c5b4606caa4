"""The plan: everything about a configuration that is known before it runs. `plan.json` is this, as JSON."""

from __future__ import annotations

from dataclasses import field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, ValidationError

from servesweep.plan.row import no_plan, other_plan
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.plugins import without_plugins
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.services import Start
from servesweep.topology.deployment import Census, Command, Deployment, Endpoint, Probe, Readiness, rendered

if TYPE_CHECKING:
    from pydantic import RootModel

PLAN_SCHEMA: Literal[1] = 1


@rendered
class Step:
    """One process of the deployment."""

    name: str
    """Unique within the plan: etcd, train_n1, prefill_0, agg_0_r1, frontend_0."""
    kind: Literal["service", "worker", "frontend"]
    """What the process is."""
    mode: str | None = None
    """Role of a worker."""
    service: str | None = None
    """The service that this is an instance of."""
    index: int = 0
    """Number of the worker in its role, or of the instance."""
    rank: int = 0
    """Number of the process within the worker."""
    engine: int = 0
    """Number of the engine among those on the worker's GPUs; 0 serves first."""
    node: str
    """Symbolic node; of a step over several, that of rank 0."""
    nodes: tuple[str, ...] = ()
    """All nodes of a step over several, in the order of ranks; else empty."""
    tasks: int = 1
    """Processes that the launch starts over its nodes."""
    shares: tuple[int, ...] = ()
    """How many of them on each of `nodes`."""
    gpus: tuple[int, ...] = ()
    """GPUs of the node that the process sees."""
    command: Command
    """What is started."""
    probe: Probe | None = None
    """How readiness is asked."""
    after: tuple[str, ...] = ()
    """Steps of the same kind that are ready before this one is started."""
    readiness: Readiness | None = None
    """When a service counts as ready."""
    start: Start | None = None
    """When a service is started."""
    terminal: bool = False
    """The job ends with the last service of this kind."""
    after_workers: bool = False
    """Start it once every worker is ready."""
    critical: bool = True
    """Whether its exit ends the run."""
    image: str | None = None
    """Container image; None: it runs bare."""
    mounts: dict[str, str] = field(default_factory=dict)
    """Host path to path in the container."""
    preamble: str | None = None
    """Shell text that runs before the command, in its process."""
    srun_options: dict[str, str] = field(default_factory=dict)
    """Options of its srun step."""
    log: str
    """Log file below the log directory; {host} is the node's real name."""


@rendered
class Node:
    """One node of the allocation and what stands on it."""

    name: str
    """Symbolic node, n0 first."""
    holds: tuple[str, ...]
    """head, client, infra, and the steps placed on it."""


@rendered
class Topology:
    """The computed properties of the layout."""

    is_disaggregated: bool
    """Prefill and decode roles instead of agg."""
    total_nodes: int
    """Nodes asked of Slurm."""
    gpus_per_node: int
    """GPUs of a node."""
    total_gpus: int
    """GPUs that workers hold: the denominator of per-GPU numbers."""
    num_prefill: int
    """Prefill workers."""
    num_decode: int
    """Decode workers."""
    num_agg: int
    """Aggregated workers."""
    gpus_per_prefill: int
    """GPUs of a prefill worker."""
    gpus_per_decode: int
    """GPUs of a decode worker."""
    gpus_per_agg: int
    """GPUs of an aggregated worker."""
    prefill_gpus: int
    """GPUs of all prefill workers."""
    decode_gpus: int
    """GPUs of all decode workers."""
    agg_gpus: int
    """GPUs of all aggregated workers."""


@rendered
class SlurmRequest:
    """What is asked of Slurm, in the executor's own resources."""

    nodes: int
    """Nodes."""
    tasks_per_node: int
    """Tasks on each node; at least 2, which keeps the rule in the batch step."""
    cpus_per_task: int
    """CPUs of a task."""
    runtime: int
    """Time limit, minutes."""
    mem_mb: int | None = None
    """Memory of a node, MB."""
    slurm_account: str | None = None
    """Account."""
    slurm_partition: str | None = None
    """Partition."""
    slurm_extra: str = ""
    """Further words of sbatch."""
    constraint: str | None = None
    """Features that the nodes must have."""
    qos: str | None = None
    """Quality of service."""
    gres: str | None = None
    """A generic resource that is no GPU."""
    comment: str | None = None
    """Comment of the job, which the run sets itself once it has begun."""


@rendered
class PlannedPoint:
    """One load level and its identity."""

    id: str
    """Name of the point."""
    concurrency: int | None = None
    """Requests in flight at most."""
    request_rate: float | str | None = None
    """Requests per second, or "inf"."""
    repeat: int = 0
    """Number of the repetition."""
    digest: str
    """Identity of the numbers: deployment, load and version of the result."""


@rendered
class PlannedService:
    """One service of the job."""

    name: str
    """Unique in the job."""
    type: str
    """Kind of service."""
    implied: bool = False
    """It follows from what the recipe uses."""
    nodes: int = 0
    """Size of the pool of whole nodes that it owns."""
    place: str = "head"
    """A node, a role, or the pool that it stands on."""
    on: tuple[str, ...] = ()
    """Symbolic nodes of its instances."""
    external: str | None = None
    """Address of one that runs already."""


@rendered
class Plan:
    """One configuration, resolved."""

    schema: Literal[1] = PLAN_SCHEMA
    """Version of this file."""
    configuration: str
    """Id: unique, file-name safe, stable."""
    name: str
    """The recipe's name for it."""
    recipe: str
    """The recipe file as it was given."""
    variant: str | None = None
    """The variant within the file."""
    digest: str
    """Identity of the configuration."""
    deployment_digest: str
    """Identity of what is measured, without its load."""
    served_model: str
    """Name under which the model is served."""
    engine: str
    """Engine, or the engines of the roles joined by +."""
    frontend: str
    """Frontend."""
    launcher: Literal["local", "slurm"]
    """How processes are started."""
    gpu_type: str | None = None
    """GPU model."""
    topology: Topology
    """Computed properties."""
    nodes: tuple[Node, ...]
    """Node map."""
    client: str
    """Node of the benchmark client."""
    public: Endpoint | None = None
    """The public API."""
    expected: Census
    """Workers that the frontend must know before anything is measured."""
    slurm: SlurmRequest
    """What is asked of Slurm."""
    steps: tuple[Step, ...]
    """Processes in the order of their start."""
    points: tuple[PlannedPoint, ...]
    """Load levels, in order."""
    services: tuple[PlannedService, ...] = ()
    """Declared and implied services, also those that are not started here."""
    notes: tuple[str, ...] = ()
    """What a reader should know about this plan."""
    unsupported: tuple[str, ...] = ()
    """What is planned, and this version cannot run yet."""
    settings: tuple[str, ...] = ()
    """Values that were set from the command line over the recipe's."""
    deployment: Deployment
    """The facts that commands were rendered from."""
    resolved: Recipe
    """The resolved recipe."""
    cluster: Cluster
    """The cluster file."""


# What is found out about the symbolic plan, and stays as it is when the plan is bound to real nodes.
JUDGED = ("notes", "services", "unsupported", "settings", "slurm", "nodes")


def read_plan(path: Path) -> Plan:
    """Read a plan file.

    Raises:
        PlanError: where it is missing, or not a plan of this version.
    """
    try:
        return plan_in(path.read_bytes())
    except FileNotFoundError:
        raise no_plan(path) from None
    except (OSError, ValidationError) as error:
        raise other_plan(path, error) from None


def plan_in(text: str | bytes) -> Plan:
    """The plan that a plan file's text is.

    Raises:
        ValidationError: where it is no plan of this version.
    """
    return _file().model_validate_json(text).root


def plan_text(plan: Plan) -> str:
    """The plan as it stands in plan.json."""
    return _file()(plan).model_dump_json(indent=1, by_alias=True) + "\n"


# Made where a plan is read or written: whoever only makes plans would wait for it.
@cache
def _file() -> type[RootModel[Plan]]:
    with without_plugins():
        from pydantic import RootModel

        class PlanFile(RootModel[Plan]):
            # Without the constants infinity would come back as null.
            model_config = ConfigDict(title="Plan", ser_json_inf_nan="constants")

    return PlanFile
