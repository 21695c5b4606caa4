"""What a scraper of metrics asks on every node: GPUs, hosts, processes."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from servesweep.recipe.section import Section
from servesweep.services.instance import Instance
from servesweep.services.service import Service


class ExporterOptions(Section):
    """Where it listens."""

    port: int | None = Field(default=None, ge=1, le=65535, description="Its port; default: the type's own.")


class Exporter(Service):
    """On every node that works; the end of one costs its numbers, and never the run.

    Images, flags and ports as in srt-slurm: https://github.com/NVIDIA/srt-slurm, `services/exporters.py`.
    """

    Options = ExporterOptions
    place = "compute"
    start = "after_frontend"
    critical = False
    port: ClassVar[int]

    def at(self, instance: Instance, options: Section) -> int:
        """Its port."""
        assert isinstance(options, ExporterOptions)
        return instance.port(self.port) if options.port is None else options.port

    def ports(self, instance: Instance, options: Section) -> tuple[int, ...]:
        """The one that is scraped."""
        return (self.at(instance, options),)
