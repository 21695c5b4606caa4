"""`node-exporter`: CPU, memory, network and pressure of the hosts."""

from __future__ import annotations

from servesweep.recipe.section import Section
from servesweep.services.exporter import Exporter
from servesweep.services.instance import Instance
from servesweep.topology.deployment import Command
from servesweep.topology.ports import NODE_EXPORTER

COLLECTORS = (
    "cpu", "infiniband", "meminfo", "processes", "stat", "vmstat", "pressure", "meminfo_numa",
)  # fmt: skip
# Reclaimed pages too, which the exporter leaves out by itself.
VMSTAT = "^(oom_kill|pgpg|pswp|pgsteal|pg.*fault).*"


class NodeExporter(Exporter):
    """Prometheus' exporter, with those collectors alone that say something about serving."""

    name = "node-exporter"
    port = NODE_EXPORTER
    image = "quay.io#prometheus/node-exporter:v1.8.2"

    def command(self, instance: Instance, options: Section) -> Command:
        """Render the exporter."""
        words = [f"--web.listen-address=:{self.at(instance, options)}", "--collector.disable-defaults"]
        words += [f"--collector.{name}" for name in COLLECTORS]
        return Command(argv=("node_exporter", *words, f"--collector.vmstat.fields={VMSTAT}"))
