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
from servesweep.recipe.section import Environment, Section, SlurmOptions
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
            raise ValueError("roles and replicas are two spellings of the workers: keep one")
        if self.roles is None and self.replicas is None:
            raise ValueError("roles is missing: say roles (prefill and decode, or agg) or replicas")
        if self.replicas is None:
            beside = [
                key
                for key in ("nodes_per_replica", "framework_args", "router")
                if getattr(self, key) is not None
            ]
            if beside:
                raise ValueError(
                    f"{' and '.join(beside)} belongs to the replicas form: add replicas, or say it under roles"
                )
        elif self.frontend is not None:
            raise ValueError("frontend belongs to the roles form: with replicas, say router")
        return self

    @model_validator(mode="after")
    def _one_engine_form(self) -> Recipe:
        own = [mode for mode, role in self.roles.items() if role.engine] if self.roles else []
        if self.engine is not None and own:
            raise ValueError(
                f"engine is given at the top and under roles.{own[0]}: keep the shared one, or one on every role"
            )
        if self.engine is None:
            missing = [mode for mode, role in self.roles.items() if not role.engine] if self.roles else []
            if not own:
                raise ValueError("engine is missing: name it at the top, or on every role")
            if missing:
                raise ValueError(
                    f"roles.{missing[0]}.engine is missing: with engines per role, every role names its own"
                )
        return self
