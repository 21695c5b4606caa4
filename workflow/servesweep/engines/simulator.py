"""`simulator`: this project's own streaming server with exact, configurable timing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.engines.engine import Engine, WorkerSpec, without
from servesweep.engines.flags import flags
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment
from servesweep.topology.shapes import ProcessPlace


class Simulator(Engine):
    """A process a worker; the GPUs it is given are only counted."""

    name = "simulator"
    transports = frozenset({"http"})
    reserved = frozenset({"model-name", "model-path", "host", "port", "mode", "bootstrap-port"})

    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Render the server of one worker."""
        own = without(worker.args, "served-model-name")
        words = [*self._base(process, deployment), "--model-name", deployment.served_model]
        words += ["--mode", process.mode]
        if process.mode == "prefill":
            words += ["--bootstrap-port", str(process.bootstrap_port)]
        return Command(argv=tuple(words + _repeated(own)))

    def replica(
        self, process: ProcessPlace, args: tuple[str, ...], options: Section, deployment: Deployment
    ) -> Command:
        """Render one replica; its arguments are appended as they are."""
        return Command(argv=(*self._base(process, deployment), *args))

    def _base(self, process: ProcessPlace, deployment: Deployment) -> list[str]:
        words = ["python3", "-m", "servesweep.simulator", "--model-path", deployment.model]
        return [*words, "--host", "0.0.0.0", "--port", str(process.http_port)]


def _repeated(args: Mapping[str, Any]) -> list[str]:
    """`fault` may be given several times: the simulator reads one flag for each."""
    faults = args.get("fault", [])
    rest = {name: value for name, value in args.items() if name != "fault"}
    many = faults if isinstance(faults, list) else [faults]
    return flags(rest) + [word for fault in many for word in ("--fault", str(fault))]
