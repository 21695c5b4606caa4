"""`dcgm-exporter`: the GPUs' own counters, power among them."""

from __future__ import annotations

from pydantic import Field

from servesweep.recipe.section import Section
from servesweep.services.exporter import Exporter, ExporterOptions
from servesweep.services.instance import Instance
from servesweep.topology.deployment import Command
from servesweep.topology.ports import DCGM_EXPORTER


class DcgmExporterOptions(ExporterOptions):
    """Where it listens, and how often it looks."""

    collect_interval_ms: int = Field(default=1000, ge=1, description="Milliseconds between looks.")


class DcgmExporter(Exporter):
    """NVIDIA's exporter."""

    name = "dcgm-exporter"
    Options = DcgmExporterOptions
    port = DCGM_EXPORTER
    image = "nvcr.io#nvidia/k8s/dcgm-exporter:3.3.9-3.6.1-ubuntu22.04"

    def command(self, instance: Instance, options: Section) -> Command:
        """Render the exporter."""
        assert isinstance(options, DcgmExporterOptions)
        interval = f"--collect-interval={options.collect_interval_ms}"
        return Command(argv=("dcgm-exporter", interval, "--address", f":{self.at(instance, options)}"))
