"""`roles:` — the workers: how many, on what, with which arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from servesweep.recipe.engine import EngineSection
from servesweep.recipe.kv_events import KvEvents
from servesweep.recipe.limits import MOST_GPUS, MOST_NODES, MOST_WORKERS
from servesweep.recipe.problems import listed, shown
from servesweep.recipe.restart import RestartSection
from servesweep.recipe.section import Environment, Section, SlurmOptions, Words, fault, unsaid
from servesweep.recipe.texts import Line

MODES = ("prefill", "decode", "agg")


class RoleSection(Section):
    """One role: nodes, workers, GPUs of a worker, environment and the engine's own arguments."""

    nodes: int | Literal["colocate"] = Field(
        description="Nodes reserved for the role; `colocate` gives decode the GPUs that prefill leaves free."
    )
    workers: int = Field(default=1, ge=1, le=MOST_WORKERS, description="Number of workers.")
    gpus: int | None = Field(
        default=None,
        ge=1,
        le=MOST_GPUS,
        description="GPUs of a worker; default: nodes x gpus_per_node / workers.",
    )
    env: Environment = Field(default_factory=dict, description="Environment of every process of the role.")
    args: dict[str, Any] = Field(
        default_factory=dict, description="The engine's own flags, kebab or snake case."
    )
    engine: EngineSection | None = Field(
        default=None, description="Engine of this role, where roles have different ones."
    )
    extra_args: Words = Field(
        default=(), description="trtllm: flags of the OpenAI server that have no key in the engine's file."
    )
    container: Line | None = Field(
        default=None, description="Image of the role's workers, or its alias; default: model.container."
    )
    kv_events: KvEvents = Field(
        default=None, description="Publish cache events for kv-aware routing under Dynamo."
    )
    sidecar: bool | None = Field(
        default=None, description="Whether the role's workers run beside a Dynamo sidecar."
    )
    critical: bool = Field(default=True, description="Whether a worker's exit ends the run.")
    restart: RestartSection = Field(
        default_factory=unsaid(RestartSection), description="Whether a worker that exits is started again."
    )
    srun_options: SlurmOptions = Field(
        default_factory=dict, description="srun options laid over the recipe's."
    )

    @field_validator("nodes", mode="before")
    @classmethod
    def _some_nodes(cls, value: Any) -> Any:
        number = isinstance(value, int) and not isinstance(value, bool)
        if value == "colocate" or (number and 1 <= value <= MOST_NODES):
            return value
        if number and value > MOST_NODES:
            raise ValueError(f"a job has at most {MOST_NODES} nodes, got {shown(value)}")
        raise ValueError(f"expected a number of nodes from 1, or `colocate` for decode, got {shown(value)}")


class RolesSection(Section):
    """Disaggregated (prefill and decode) or aggregated (agg), never both."""

    prefill: RoleSection | None = Field(default=None, description="Workers that compute prompts.")
    decode: RoleSection | None = Field(default=None, description="Workers that generate tokens.")
    agg: RoleSection | None = Field(default=None, description="Workers that do both.")

    def items(self) -> Iterator[tuple[str, RoleSection]]:
        """Yield (mode, role) of the roles that are there, in the order prefill, decode, agg."""
        for mode in MODES:
            role = getattr(self, mode)
            if role is not None:
                yield mode, role

    @model_validator(mode="after")
    def _one_form(self) -> RolesSection:
        present = [mode for mode, _ in self.items()]
        if not present:
            raise ValueError("at least one role is needed: prefill and decode, or agg")
        if "agg" in present and len(present) > 1:
            raise ValueError(f"{listed(present)} are mixed: a recipe has prefill and decode, or agg alone")
        if present in (["prefill"], ["decode"]):
            missing = "decode" if present == ["prefill"] else "prefill"
            raise ValueError(f"{present[0]} alone serves nothing: the role {missing} is missing")
        for mode, role in self.items():
            if role.nodes == "colocate" and mode != "decode":
                raise fault("only decode can colocate", mode, "nodes")
        if self.decode and self.prefill and self.decode.nodes == "colocate":
            bare = [f"roles.{mode}.gpus" for mode, role in self.items() if role.gpus is None]
            if bare:
                raise fault(f"colocate needs the GPUs of a worker: say {listed(bare)}", "decode", "nodes")
        return self
