"""`nats`: the message bus of Dynamo's planes, where one goes over it."""

from __future__ import annotations

from pydantic import Field

from servesweep.recipe.section import Section
from servesweep.services.service import Service
from servesweep.topology.deployment import Binding, Command, Probe
from servesweep.topology.ports import NATS

MEGABYTE = 1024 * 1024


class NatsOptions(Section):
    """Options of the server."""

    max_payload_mb: int | None = Field(
        default=None, ge=1, description="Largest message, MB; default: the server's own 1 MB."
    )


class Nats(Service):
    """One server with JetStream, its data on the node's own disk."""

    name = "nats"
    scheme = "nats"
    Options = NatsOptions

    def command(self, node: str, binding: Binding, options: Section | None = None) -> Command:
        """Render the server; the size of messages can only be told by a file."""
        words = ["nats-server", "-js", "-sd", f"{binding.scratch}/nats", "-p", str(NATS)]
        if not isinstance(options, NatsOptions) or options.max_payload_mb is None:
            return Command(argv=tuple(words))
        file = f"{binding.logs}/nats.conf"
        text = f"max_payload: {options.max_payload_mb * MEGABYTE}\n"
        return Command(argv=(*words, "-c", file), files={file: text})

    def probe(self) -> Probe:
        """Whether its client port accepts."""
        return Probe(kind="tcp", port=NATS)

    def url(self, node: str, binding: Binding) -> str:
        """The client URL."""
        return f"nats://{binding.addresses[node]}:{NATS}"

    def discovery(self, url: str) -> dict[str, str]:
        """The client URL."""
        return {"NATS_SERVER": url}
