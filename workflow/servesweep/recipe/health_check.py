"""`health_check:` — how long the health gate waits, and what makes it give up at once."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from servesweep.recipe.limits import A_DAY
from servesweep.recipe.section import Section


class HealthCheckSection(Section):
    """The gate's patience is max_attempts x interval_seconds."""

    max_attempts: int = Field(
        default=180, ge=1, le=100_000, description="Number of probes before the gate gives up."
    )
    interval_seconds: float = Field(default=10, gt=0, le=A_DAY, description="Seconds between probes.")
    fatal_log_markers: bool = Field(
        default=True, description="Give up at once when an engine prints a known fatal line."
    )
    extra_fatal_log_patterns: tuple[str, ...] = Field(
        default=(), strict=False, description="Further regular expressions that mean the same."
    )

    @property
    def timeout_seconds(self) -> float:
        """The longest that the gate waits, in seconds."""
        return self.max_attempts * self.interval_seconds

    @field_validator("extra_fatal_log_patterns")
    @classmethod
    def _compiles(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                found = re.compile(pattern)
            except (re.error, OverflowError) as error:
                raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
            # What is found in nothing, and in a line of no sense too, is found in every line.
            if found.search("") and found.search("\x01"):
                raise ValueError(
                    f"the pattern {pattern!r} is in every line, so the gate would give up at once"
                )
        return patterns
