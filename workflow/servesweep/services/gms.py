"""`gms`: Dynamo's GPU memory service, which keeps weights alive beside each vLLM worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from pydantic import Field

from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Section
from servesweep.recipe.services import CARRYING_WORKERS, ServiceSection
from servesweep.services.instance import Instance
from servesweep.services.service import Fault, Service
from servesweep.topology.deployment import Command, Readiness

SECONDS = 120.0
READY = "GMS ready:"
# Each server binds a socket for weights and one for the cache.
SOCKETS_PER_GPU = 2
# The end of one server ends the others; a SIGTERM ends all, and removes their sockets.
SERVERS = """\
mkdir -p "$GMS_SOCKET_DIR" && rm -f "$GMS_SOCKET_DIR"/gms_*.sock || exit 1
trap 'trap - TERM; kill $(jobs -p); wait; rm -rf "$GMS_SOCKET_DIR"; exit 0' TERM INT
for gpu in $(seq 0 $(({gpus} - 1))); do python3 -m gpu_memory_service --device "$gpu" & done
until [ "$(ls "$GMS_SOCKET_DIR"/gms_*.sock 2> /dev/null | wc -l)" -ge {sockets} ]; do
  [ "$(jobs -rp | wc -l)" -eq {gpus} ] || {{ kill $(jobs -p); exit 1; }}
  sleep 1
done
echo "{ready} {gpus} GPUs, {sockets} sockets in $GMS_SOCKET_DIR"
wait -n
kill $(jobs -p)
exit 1"""


class GmsOptions(Section):
    """Where its sockets lie."""

    shared_dir: str = Field(
        default="/dev/shm", description="Directory on each node; the engine's failover names the same."
    )


class Gms(Service):
    """One instance a worker, with that worker's view of the GPUs.

    As in srt-slurm: https://github.com/NVIDIA/srt-slurm, `services/gms.py`.
    """

    name = "gms"
    Options = GmsOptions
    place = "workers"
    places = frozenset(CARRYING_WORKERS)
    per = "worker"

    def command(self, instance: Instance, options: Section) -> Command:
        """Render one server for each GPU of the worker."""
        assert isinstance(options, GmsOptions)
        assert instance.worker is not None
        worker = instance.worker
        owner = PurePath(instance.deployment.binding.scratch).name
        sockets = f"{options.shared_dir}/{owner}/{worker.mode}_{worker.index}"
        gpus = len(worker.gpus)
        script = SERVERS.format(gpus=gpus, sockets=SOCKETS_PER_GPU * gpus, ready=READY)
        return Command(argv=("bash", "-c", script), env={"GMS_SOCKET_DIR": sockets})

    def readiness(self, instance: Instance, options: Section) -> Readiness:
        """By the line that says that every server has its sockets."""
        return Readiness(log=READY, timeout_seconds=SECONDS, interval_seconds=1.0)

    def refusals(self, section: ServiceSection, recipe: Recipe) -> Iterator[Fault]:
        """It is of use to failover alone, and to one worker."""
        yield from super().refusals(section, recipe)
        if recipe.engine is None or not recipe.engine.options.get("failover"):
            yield "type", "gms keeps weights for engine.failover, and this recipe has none"
        if section.placement and section.placement.per == "node":
            yield "placement", "gms runs beside each worker: say per: worker, or leave it out"
