"""Engine-wide options of TensorRT-LLM."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from servesweep.engines.engine import WorkerSpec
from servesweep.recipe.not_yet import NotYet
from servesweep.recipe.problems import shown
from servesweep.recipe.section import Section, fault


def _binding(value: Any) -> Any:
    if value is None or isinstance(value, bool) or value == "local":
        return value
    raise ValueError(f"expected true, false or local, got {shown(value)}")


class TrtllmOptions(Section):
    """Engine-wide options of TensorRT-LLM."""

    served_model_name: str | None = Field(
        default=None, description="Served name; default: the model directory's."
    )
    publish_metrics: bool = Field(default=True, description="Let Dynamo's workers publish engine metrics.")
    publish_events_and_metrics: bool | None = Field(
        default=None, description="The older flag of Dynamo for metrics and KV events together."
    )
    numa_memory_bind: Annotated[bool | Literal["local"] | None, BeforeValidator(_binding)] = Field(
        default=None,
        description="Allocate on NUMA nodes 0 and 1 alone, or `local`: on that of the task's GPU;"
        " default: 0 and 1 for prefill and decode of gb200 and gb300.",
    )
    numa_cpu_bind: bool = Field(
        default=False, description="Bind each task to the CPUs of its GPU's NUMA node."
    )
    sequential_node_start: int = Field(
        default=0,
        ge=0,
        description="Workers of a node that start at once; 0: all.",
        json_schema_extra=NotYet("starting workers in turns"),
    )

    @model_validator(mode="after")
    def _local_is_bound(self) -> TrtllmOptions:
        if self.numa_memory_bind == "local" and not self.numa_cpu_bind:
            raise fault("local memory needs numa_cpu_bind: true", "numa_memory_bind")
        return self


def options_of(worker: WorkerSpec) -> TrtllmOptions:
    """The options as TensorRT-LLM's own; the defaults where there are none."""
    return worker.options if isinstance(worker.options, TrtllmOptions) else TrtllmOptions()
