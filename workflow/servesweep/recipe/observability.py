"""`observability:` — traces and metrics of the whole deployment."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from servesweep.recipe.section import Section


class TachometerSection(Section):
    """A scraper of all metrics endpoints."""

    enabled: bool = Field(default=False, description="Whether metrics are scraped.")
    binary_path: str = Field(default="tachometer-scraper", description="The scraper's program.")
    collect_interval_ms: int = Field(default=1000, ge=1, description="Milliseconds between scrapes.")
    sync_interval_secs: float = Field(default=120, gt=0, description="Seconds between writes to disk.")
    compaction_threads: int = Field(default=4, ge=1, description="Threads that compact what was written.")
    storage_subdir: str = Field(default="tachometer", description="Directory below the logs.")
    extra_metadata: dict[str, Any] = Field(default_factory=dict, description="Facts written beside.")


class ObservabilitySection(Section):
    """A preset of tracing and scraping."""

    enabled: bool = Field(default=False, description="Turn the whole preset on.")
    enable_otel: bool = Field(default=False, description="Export traces by OpenTelemetry.")
    otel_endpoint: str | None = Field(default=None, description="Where they are sent.")
    tachometer: TachometerSection | None = Field(default=None, description="Scraping of metrics.")
    nsys: dict[str, Any] = Field(default_factory=dict, description="Options of nsys in the preset.")

    @property
    def wanted(self) -> bool:
        """Whether anything of it is turned on."""
        return self.enabled or self.enable_otel or bool(self.tachometer and self.tachometer.enabled)
