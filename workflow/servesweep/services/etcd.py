"""`etcd`: the discovery plane of Dynamo."""

from __future__ import annotations

from servesweep.recipe.section import Section
from servesweep.services.instance import Instance
from servesweep.services.service import SharedService
from servesweep.topology.deployment import Binding, Command, Probe, Readiness
from servesweep.topology.ports import ETCD_CLIENT, ETCD_PEER

# The first start of a container may have to fetch its image.
PATIENCE_SECONDS = 300.0


class Etcd(SharedService):
    """One member, its data on the node's own disk: it lives as long as the allocation."""

    name = "etcd"
    start = "infra"

    def command(self, instance: Instance, options: Section) -> Command:
        """Render a single-member etcd that is reachable from the other nodes."""
        address = instance.address
        client, peer_port = self.ports(instance, options)
        peer = f"http://{address}:{peer_port}"
        data = f"{instance.deployment.binding.scratch}/etcd"
        words = ["etcd", "--name", "servesweep", "--data-dir", data]
        words += ["--listen-client-urls", f"http://0.0.0.0:{client}"]
        words += ["--advertise-client-urls", f"http://{address}:{client}"]
        words += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        return Command(argv=(*words, "--initial-cluster", f"servesweep={peer}"))

    def readiness(self, instance: Instance, options: Section) -> Readiness:
        """Its own health endpoint."""
        port = instance.port(ETCD_CLIENT)
        return Readiness(probes=(Probe(kind="http", port=port),), timeout_seconds=PATIENCE_SECONDS)

    def ports(self, instance: Instance, options: Section) -> tuple[int, ...]:
        """For clients and for peers."""
        return (instance.port(ETCD_CLIENT), instance.port(ETCD_PEER))

    def url(self, node: str, binding: Binding) -> str:
        """The client URL."""
        return f"http://{binding.addresses[node]}:{binding.port(node, ETCD_CLIENT)}"

    def discovery(self, url: str) -> dict[str, str]:
        """The client URL, and that Dynamo shall use it."""
        return {"ETCD_ENDPOINTS": url, "DYN_DISCOVERY_BACKEND": "etcd"}
