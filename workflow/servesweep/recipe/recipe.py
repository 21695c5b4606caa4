"""The recipe: its sections put together, and the rules that span them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from servesweep.recipe.benchmark import BenchmarkSection
from servesweep.recipe.engine import EngineSection
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.health_check import HealthCheckSection
from servesweep.recipe.model import ModelSection
from servesweep.recipe.resources import ResourcesSection
from servesweep.recipe.roles import RolesSection
from servesweep.recipe.section import Environment, Section, SlurmOptions, fault
from servesweep.recipe.slurm import SlurmSection

SCHEMA = 2


class Recipe(Section):
    """One fully resolved variant of a recipe file."""

    schema_: Literal[2] = Field(alias="schema", description="Version of the recipe language.")
    name: str = Field(min_length=1, description="Name shown in tables and on the Slurm job.")
    model: ModelSection = Field(description="Which weights are served.")
    engine: EngineSection | None = Field(default=None, description="Engine of all roles.")
    roles: RolesSection | None = Field(default=None, description="The workers.")
    replicas: int | None = Field(
        default=None,
        ge=1,
        description="Number of replicas, each one engine process on nodes_per_replica whole nodes.",
    )
    nodes_per_replica: int | None = Field(
        default=None, ge=1, description="Whole nodes of a replica; default 1."
    )
    framework_args: str | None = Field(
        default=None,
        description="The engine's command-line arguments, free-form; nothing is inferred or added.",
    )
    router: Literal["none", "sglang"] | None = Field(
        default=None,
        description="Router over the replicas; with one replica it is left out, and the plan says so.",
    )
    resources: ResourcesSection = Field(default_factory=ResourcesSection, description="Facts about the GPUs.")
    slurm: SlurmSection = Field(default_factory=SlurmSection, description="What is asked of the scheduler.")
    frontend: FrontendSection | None = Field(
        default=None, description="What takes the requests; default: dynamo."
    )
    benchmark: BenchmarkSection = Field(
        default_factory=BenchmarkSection, description="Which load is measured."
    )
    health_check: HealthCheckSection = Field(
        default_factory=HealthCheckSection, description="How long the health gate waits."
    )
    environment: Environment = Field(
        default_factory=dict,
        description="Environment of workers, frontend and benchmark; wins over a role's env.",
    )
    srun_options: SlurmOptions = Field(
        default_factory=dict, description="Options of every srun step of the job."
    )

    @model_validator(mode="after")
    def _one_spelling(self) -> Recipe:
        if self.roles is not None and self.replicas is not None:
            raise fault("roles and replicas are two spellings of the workers: keep one", "replicas")
        if self.roles is None and self.replicas is None:
            raise fault(
                "the workers are missing: say roles (prefill and decode, or agg) or replicas", "roles"
            )
        if self.replicas is None:
            for key in ("nodes_per_replica", "framework_args", "router"):
                if getattr(self, key) is not None:
                    raise fault(f"{key} belongs to the replicas form: add replicas, or remove it", key)
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
        if self.engine is None and not own:
            where = "at the top, or on every role" if roles else "at the top"
            raise fault(f"the engine is missing: name it {where}", "engine")
        if self.engine is None and missing:
            raise fault(
                "the engine is missing: with engines per role, every role names its own",
                "roles", missing[0], "engine",
            )  # fmt: skip
        return self
