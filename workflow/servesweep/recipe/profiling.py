"""`profiling:` — traces of the engines while the load runs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from servesweep.recipe.not_yet import NotYet
from servesweep.recipe.problems import listed
from servesweep.recipe.section import Section, Words, fault

PHASES = ("prefill", "decode", "aggregated")


class ProfiledSteps(Section):
    """A window of engine steps."""

    start_step: int = Field(ge=0, description="First step that is traced.")
    stop_step: int = Field(ge=1, description="Step before which the trace ends.")

    @model_validator(mode="after")
    def _forwards(self) -> ProfiledSteps:
        if self.stop_step <= self.start_step:
            raise fault(f"the trace ends before it begins, at step {self.start_step}", "stop_step")
        return self


TEXT_OR_LIST = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})


def _arguments(value: Any) -> Any:
    return value.split() if isinstance(value, str) else value


class ProfilingSection(Section):
    """Which profiler, and for each role when."""

    type: Literal["none", "nsys", "nsys-time", "torch"] = Field(
        default="none", description="The profiler.", json_schema_extra=NotYet("tracing the engines")
    )
    extra_nsys_args: Annotated[Words, BeforeValidator(_arguments), TEXT_OR_LIST] = Field(
        default=(), description="Further arguments of nsys, as text or a list."
    )
    prefill: ProfiledSteps | None = Field(default=None, description="Steps of prefill workers.")
    decode: ProfiledSteps | None = Field(default=None, description="Steps of decode workers.")
    aggregated: ProfiledSteps | None = Field(default=None, description="Steps of agg workers.")
    delay_secs: float | None = Field(default=None, ge=0, description="nsys-time: seconds before the trace.")
    duration_secs: float | None = Field(default=None, gt=0, description="nsys-time: seconds of the trace.")
    benchmark_duration_secs: float = Field(
        default=300, gt=0, description="Seconds of load that the trace needs."
    )

    @model_validator(mode="after")
    def _whole(self) -> ProfilingSection:
        given = [phase for phase in PHASES if getattr(self, phase) is not None]
        if self.type == "nsys-time":
            missing = [key for key in ("delay_secs", "duration_secs") if getattr(self, key) is None]
            if missing:
                raise fault(f"nsys-time needs {listed(missing)}", missing[0])
        elif self.type == "none" and given:
            raise fault("type none profiles nothing: name a profiler, or remove the steps", given[0])
        if "aggregated" in given and len(given) > 1:
            raise fault("steps are given for prefill and decode, or for aggregated alone", "aggregated")
        return self
