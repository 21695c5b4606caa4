"""`nats`: the message bus of Dynamo's planes, where one goes over it."""

from __future__ import annotations

from pydantic import Field

from servesweep.recipe.section import Section
from servesweep.services.etcd import PATIENCE_SECONDS
from servesweep.services.instance import Instance
from servesweep.services.service import SharedService
from servesweep.topology.deployment import Binding, Command, Probe, Readiness
from servesweep.topology.ports import NATS

MEGABYTE = 1024 * 1024


class NatsOptions(Section):
    """Options of the server."""

    max_payload_mb: int | None = Field(
        default=None, ge=1, description="Largest message, MB; default: the server's own 1 MB."
    )


class Nats(SharedService):
    """One server with JetStream, its data on the node's own disk."""

    name = "nats"
    scheme = "nats"
    start = "infra"
    Options = NatsOptions

    def command(self, instance: Instance, options: Section) -> Command:
        """Render the server; the size of messages can only be told by a file."""
        assert isinstance(options, NatsOptions)
        place = instance.deployment
        words = ("nats-server", "-js", "-sd", f"{place.binding.scratch}/nats", "-p", str(instance.port(NATS)))
        if options.max_payload_mb is None:
            return Command(argv=words)
        text = f"max_payload: {options.max_payload_mb * MEGABYTE}\n"
        return Command(
            argv=(*words, "-c", f"{place.logs}/nats.conf"), files={f"{place.binding.logs}/nats.conf": text}
        )

    def readiness(self, instance: Instance, options: Section) -> Readiness:
        """Whether its client port accepts."""
        return Readiness(
            probes=(Probe(kind="tcp", port=instance.port(NATS)),), timeout_seconds=PATIENCE_SECONDS
        )

    def url(self, node: str, binding: Binding) -> str:
        """The client URL."""
        return f"nats://{binding.addresses[node]}:{binding.port(node, NATS)}"

    def discovery(self, url: str) -> dict[str, str]:
        """The client URL."""
        return {"NATS_SERVER": url}
