"""`process-exporter`: CPU, threads and memory of the deployment's own processes."""

from __future__ import annotations

import yaml
from pydantic import Field

from servesweep.recipe.section import Section
from servesweep.services.exporter import Exporter, ExporterOptions
from servesweep.services.instance import Instance
from servesweep.topology.deployment import Command
from servesweep.topology.ports import PROCESS_EXPORTER

# Group to a regular expression for the whole command line; the first that matches counts.
GROUPS = {
    "frontend": r"dynamo\.frontend",
    "router": r"(sglang|vllm)_router",
    "worker": r"(dynamo\.(sglang|vllm|trtllm|mocker)|sglang|vllm|trtllm)",
    "etcd": r"^etcd\b",
    "nats": r"^nats-server\b",
    "client": r"servesweep\.loadgen",
}
CONFIG = "process-exporter.yml"


class ProcessExporterOptions(ExporterOptions):
    """Where it listens, and its program."""

    binary: str = Field(default="process-exporter", description="Program on the nodes.")


class ProcessExporter(Exporter):
    """On every node, the frontend's and the client's too, and outside of containers: it looks into /proc."""

    name = "process-exporter"
    Options = ProcessExporterOptions
    place = "all"
    port = PROCESS_EXPORTER
    bare = True

    def command(self, instance: Instance, options: Section) -> Command:
        """Render the exporter and the file that names its groups."""
        assert isinstance(options, ProcessExporterOptions)
        file = f"{instance.deployment.binding.logs}/{CONFIG}"
        groups = [{"name": name, "cmdline": [pattern]} for name, pattern in GROUPS.items()]
        words = ["-config.path", file, f"-web.listen-address=:{self.at(instance, options)}"]
        words += ["-threads=true", "-children=false", "-recheck=false"]
        text = yaml.safe_dump({"process_names": groups}, sort_keys=False)
        return Command(argv=(options.binary, *words), files={file: text})
