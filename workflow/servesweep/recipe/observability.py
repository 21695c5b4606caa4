"""`observability:` — traces and metrics of the whole deployment."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from servesweep.recipe.limits import A_DAY, A_WEEK
from servesweep.recipe.not_yet import NotYet
from servesweep.recipe.section import Section, fault
from servesweep.recipe.texts import Line


class TachometerSection(Section):
    """A scraper of all metrics endpoints."""

    enabled: bool = Field(default=False, description="Whether metrics are scraped.")
    binary_path: Line = Field(default="tachometer-scraper", description="The scraper's program.")
    collect_interval_ms: int = Field(
        default=1000, ge=1, le=1000 * A_DAY, description="Milliseconds between scrapes."
    )
    sync_interval_secs: float = Field(
        default=120, gt=0, le=A_WEEK, description="Seconds between writes to disk."
    )
    compaction_threads: int = Field(
        default=4, ge=1, le=1024, description="Threads that compact what was written."
    )
    storage_subdir: Line = Field(default="tachometer", description="Directory below the logs.")
    extra_metadata: dict[str, Any] = Field(default_factory=dict, description="Facts written beside.")


class ObservabilitySection(Section):
    """A preset of tracing and scraping."""

    enabled: bool = Field(default=False, description="Turn the whole preset on.")
    enable_otel: bool = Field(default=False, description="Export traces by OpenTelemetry.")
    otel_endpoint: Line | None = Field(default=None, description="Where they are sent.")
    tachometer: TachometerSection | None = Field(
        default=None, description="Scraping of metrics.", json_schema_extra=NotYet("scraping metrics")
    )
    nsys: dict[str, Any] = Field(
        default_factory=dict,
        description="Options of nsys in the preset.",
        json_schema_extra=NotYet("tracing every process"),
    )

    @model_validator(mode="after")
    def _somewhere(self) -> ObservabilitySection:
        if self.enable_otel and self.otel_endpoint is None:
            raise fault("enable_otel exports traces to otel_endpoint: say where that is", "enable_otel")
        return self

    @property
    def scrapes(self) -> bool:
        """Whether metrics are scraped: the preset does, unless it is told not to."""
        said = self.tachometer is not None and "enabled" in self.tachometer.model_fields_set
        return bool(self.tachometer and self.tachometer.enabled) if said else self.enabled
