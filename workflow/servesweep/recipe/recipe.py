"""The recipe: its sections put together, and the rules that span them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from servesweep.recipe.after_run import OutputSection, PostEvalSection, ReportingSection
from servesweep.recipe.benchmark import BenchmarkSection
from servesweep.recipe.dynamo import DynamoSection
from servesweep.recipe.engine import EngineSection
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.health_check import HealthCheckSection
from servesweep.recipe.host_setup import HostSetupSection
from servesweep.recipe.identity import IdentitySection
from servesweep.recipe.limits import MOST_NODES
from servesweep.recipe.model import ModelSection
from servesweep.recipe.mounts import Mounts, MountWords
from servesweep.recipe.not_yet import NotYet
from servesweep.recipe.observability import ObservabilitySection
from servesweep.recipe.profiling import ProfilingSection
from servesweep.recipe.resources import ResourcesSection
from servesweep.recipe.roles import RolesSection
from servesweep.recipe.section import Environment, Section, SlurmOptions, Words, fault, unsaid
from servesweep.recipe.services import ServiceSection
from servesweep.recipe.slurm import SlurmSection
from servesweep.recipe.telemetry import TelemetrySection
from servesweep.recipe.texts import Line

SCHEMA = 2
REPLICAS_ONLY = ("nodes_per_replica", "framework_args", "pre_launch", "router", "router_args")


class Recipe(Section):
    """One fully resolved variant of a recipe file."""

    schema_: Literal[2] = Field(alias="schema", description="Version of the recipe language.")
    name: Line = Field(description="Name shown in tables and on the Slurm job.")
    model: ModelSection = Field(description="Which weights are served.")
    engine: EngineSection | None = Field(default=None, description="Engine of all roles.")
    roles: RolesSection | None = Field(default=None, description="The workers.")
    replicas: int | None = Field(
        default=None,
        ge=1,
        le=MOST_NODES,
        description="Number of replicas, each one engine process on nodes_per_replica whole nodes.",
    )
    nodes_per_replica: int | None = Field(
        default=None, ge=1, le=MOST_NODES, description="Whole nodes of a replica; default 1."
    )
    framework_args: str | None = Field(
        default=None,
        description="The engine's command-line arguments, free-form; nothing is inferred or added.",
    )
    pre_launch: Words | None = Field(
        default=None, description="Shell commands run on each node of a replica before its engine."
    )
    router: Literal["none", "sglang", "opentela"] | None = Field(
        default=None,
        description="`sglang`: a router over the replicas of this job; with one replica it is left out, and"
        " the plan says so. `opentela`: each replica joins the mesh of jobs by the cluster's otela_binary.",
    )
    router_args: str | None = Field(
        default=None, description="Further arguments of the router over the replicas."
    )
    resources: ResourcesSection = Field(
        default_factory=unsaid(ResourcesSection), description="Facts about the GPUs."
    )
    slurm: SlurmSection = Field(
        default_factory=unsaid(SlurmSection), description="What is asked of the scheduler."
    )
    frontend: FrontendSection | None = Field(
        default=None, description="What takes the requests; default: dynamo."
    )
    benchmark: BenchmarkSection = Field(
        default_factory=unsaid(BenchmarkSection), description="Which load is measured."
    )
    health_check: HealthCheckSection = Field(
        default_factory=unsaid(HealthCheckSection), description="How long the health gate waits."
    )
    environment: Environment = Field(
        default_factory=dict,
        description="Environment of workers, frontend and benchmark; wins over a role's env.",
    )
    srun_options: SlurmOptions = Field(
        default_factory=dict, description="Options of every srun step of the job."
    )
    sbatch_directives: SlurmOptions = Field(
        default_factory=dict, description='Further options of sbatch; "" is a flag without a value.'
    )
    dynamo: DynamoSection = Field(
        default_factory=unsaid(DynamoSection), description="Which Dynamo, and how its parts talk."
    )
    services: tuple[ServiceSection, ...] = Field(
        default=(), strict=False, description="Further processes of the job."
    )
    container_mounts: Mounts = Field(
        default_factory=dict, description="Host path to path in every container."
    )
    extra_mount: MountWords = Field(
        default=(), description="Mounts as host:container, with :ro for read-only."
    )
    setup_script: Line | None = Field(
        default=None, description="Script run in the container before workers and frontends."
    )
    host_setup: HostSetupSection | None = Field(default=None, description="Commands on the bare nodes.")
    identity: IdentitySection | None = Field(default=None, description="What is declared to be served.")
    profiling: ProfilingSection = Field(
        default_factory=unsaid(ProfilingSection), description="Traces of the engines under load."
    )
    observability: ObservabilitySection = Field(
        default_factory=unsaid(ObservabilitySection), description="Traces and metrics of the deployment."
    )
    telemetry: TelemetrySection = Field(
        default_factory=unsaid(TelemetrySection), description="Power of the GPUs under load."
    )
    post_eval: PostEvalSection | None = Field(default=None, description="A command after the load.")
    output: OutputSection | None = Field(default=None, description="Where logs lie.")
    reporting: ReportingSection | None = Field(
        default=None,
        description="Who is told about the run.",
        json_schema_extra=NotYet("telling others about the run"),
    )
    enable_config_dump: bool = Field(
        default=True, description="Let engines write their resolved configuration to the logs."
    )

    @property
    def services_only(self) -> bool:
        """Whether the job has services that own nodes, and neither engine roles nor a frontend."""
        owners = any(service.enabled and service.nodes for service in self.services)
        bare = self.frontend is not None and self.frontend.type == "none"
        return owners and bare and self.roles is None and self.replicas is None

    @model_validator(mode="after")
    def _one_spelling(self) -> Recipe:
        if self.roles is not None and self.replicas is not None:
            raise fault("roles and replicas are two spellings of the workers: keep one", "replicas")
        if self.roles is None and self.replicas is None and not self.services_only:
            raise fault(
                "the workers are missing: say roles (prefill and decode, or agg) or replicas", "roles"
            )
        if self.replicas is None:
            for key in REPLICAS_ONLY:
                if getattr(self, key) is not None:
                    raise fault(f"{key} belongs to the replicas form: add replicas, or remove it", key)
        elif self.router_args is not None and self.router != "sglang":
            raise fault("router_args are arguments of a router: say router: sglang", "router_args")
        elif self.frontend is not None:
            raise fault("frontend belongs to the roles form: with replicas, say router", "frontend")
        return self

    @model_validator(mode="after")
    def _one_engine_form(self) -> Recipe:
        roles = dict(self.roles.items()) if self.roles else {}
        own = [mode for mode, role in roles.items() if role.engine]
        missing = [mode for mode, role in roles.items() if not role.engine]
        if self.engine is not None and own:
            raise fault(
                "the engine is given at the top too: keep that one, or one on every role",
                "roles", own[0], "engine",
            )  # fmt: skip
        if self.services_only:
            if self.engine is not None:
                raise fault("a job of services alone has no engine: remove it, or say roles", "engine")
            return self
        if self.engine is None and not own:
            where = "at the top, or on every role" if roles else "at the top"
            raise fault(f"the engine is missing: name it {where}", "engine")
        if self.engine is None and missing:
            raise fault(
                "the engine is missing: with engines per role, every role names its own",
                "roles", missing[0], "engine",
            )  # fmt: skip
        return self
