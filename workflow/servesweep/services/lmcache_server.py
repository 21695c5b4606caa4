"""`lmcache-server`: LMCache's server beside the workers of each node."""

from __future__ import annotations

from servesweep.recipe.section import Section
from servesweep.services.instance import Instance
from servesweep.services.service import Service
from servesweep.topology.deployment import Command, Probe, Readiness
from servesweep.topology.ports import LMCACHE_CONTROL, LMCACHE_SERVER

# It pins host memory before it answers.
PATIENCE_SECONDS = 300.0


class LmcacheServer(Service):
    """One server a node: vLLM's connector `lmcache-mp` talks to its own node's alone.

    Flags and health path as in srt-slurm: https://github.com/NVIDIA/srt-slurm, `services/lmcache_server.py`.
    """

    name = "lmcache-server"
    place = "workers"

    def command(self, instance: Instance, options: Section) -> Command:
        """Render the server."""
        words = ["lmcache", "server", "--host", "0.0.0.0", "--port", str(instance.port(LMCACHE_SERVER))]
        words += ["--http-host", "0.0.0.0", "--http-port", str(instance.port(LMCACHE_CONTROL))]
        return Command(argv=tuple(words))

    def readiness(self, instance: Instance, options: Section) -> Readiness:
        """Its own health endpoint."""
        probe = Probe(kind="http", port=instance.port(LMCACHE_CONTROL), path="/healthcheck")
        return Readiness(probes=(probe,), timeout_seconds=PATIENCE_SECONDS)

    def ports(self, instance: Instance, options: Section) -> tuple[int, ...]:
        """For the engines and for HTTP."""
        return (instance.port(LMCACHE_SERVER), instance.port(LMCACHE_CONTROL))
