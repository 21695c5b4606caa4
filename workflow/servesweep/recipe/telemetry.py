"""`telemetry:` — the power that the GPUs draw while a point is measured."""

from __future__ import annotations

from pydantic import Field, model_validator

from servesweep.recipe.not_yet import NotYet
from servesweep.recipe.section import Section, Words, fault


class ExporterSection(Section):
    """The exporter that is asked."""

    container_image: str | None = Field(default=None, description="Its image, or the alias.")
    port: int = Field(default=9401, ge=1, le=65535, description="Its port on every node.")
    command: Words = Field(default=(), description="Program and arguments.")


class TelemetrySection(Section):
    """Samples of every GPU's power, on one clock with the points."""

    enabled: bool = Field(
        default=False, description="Whether power is sampled.", json_schema_extra=NotYet("sampling power")
    )
    dcgm_exporter: ExporterSection | None = Field(default=None, description="The exporter on every node.")
    collect_interval_ms: int = Field(default=1000, ge=1, le=3000, description="Milliseconds between samples.")
    storage_subdir: str = Field(default="power", description="Directory below the logs.")
    required: bool = Field(default=False, description="Without valid samples the run fails.")
    startup_timeout_seconds: float = Field(
        default=30, gt=0, description="Patience with the exporters, seconds."
    )
    request_timeout_seconds: float = Field(default=2, gt=0, description="Patience with one sample, seconds.")
    collector_join_timeout_seconds: float | None = Field(
        default=None, gt=0, description="Patience with the collector's end, seconds."
    )

    @model_validator(mode="after")
    def _has_exporter(self) -> TelemetrySection:
        if self.enabled and self.dcgm_exporter is None:
            raise fault("telemetry asks an exporter: say dcgm_exporter", "dcgm_exporter")
        return self
