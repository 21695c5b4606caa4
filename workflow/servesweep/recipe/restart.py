"""`roles.<role>.restart` — whether a worker that exits is started again, and how patiently."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from servesweep.recipe.limits import A_DAY
from servesweep.recipe.problems import shown
from servesweep.recipe.section import Section, fault


class RestartSection(Section):
    """A bare policy, or a mapping; the delay doubles on each relaunch of the same worker, up to a cap."""

    policy: Literal["never", "on-failure", "always"] = Field(
        default="never",
        description="`never` leaves an exit to `critical`, `on-failure` relaunches after a non-zero exit,"
        " `always` after any.",
    )
    max_restarts: int = Field(
        default=3, ge=0, le=10_000, description="Relaunches allowed for each worker over the life of the job."
    )
    backoff_seconds: float = Field(
        default=10, ge=0, le=A_DAY, description="Delay before the first relaunch, seconds."
    )
    max_backoff_seconds: float = Field(
        default=300, ge=0, le=A_DAY, description="Cap on the doubled delay, seconds."
    )

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"policy": data}
        if isinstance(data, dict):
            return data
        raise ValueError(f"expected never, on-failure or always, or a mapping with policy, got {shown(data)}")

    @model_validator(mode="after")
    def _cap_above_first(self) -> RestartSection:
        if self.max_backoff_seconds < self.backoff_seconds:
            raise fault(
                f"the cap of {self.max_backoff_seconds:g} s lies below the first delay of"
                f" {self.backoff_seconds:g} s: raise it, or lower backoff_seconds",
                "max_backoff_seconds",
            )
        return self

    def delay(self, attempt: int) -> float:
        """Seconds before relaunch number `attempt` (from 1)."""
        return min(self.backoff_seconds * 2.0 ** (attempt - 1), self.max_backoff_seconds)
