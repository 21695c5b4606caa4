"""`etcd`: the discovery plane of Dynamo."""

from __future__ import annotations

from servesweep.recipe.section import Section
from servesweep.services.service import Service
from servesweep.topology.deployment import Binding, Command, Probe
from servesweep.topology.ports import ETCD_CLIENT, ETCD_PEER


class Etcd(Service):
    """One member, its data on the node's own disk: it lives as long as the allocation."""

    name = "etcd"

    def command(self, node: str, binding: Binding, options: Section | None = None) -> Command:
        """Render a single-member etcd that is reachable from the other nodes."""
        address = binding.addresses[node]
        peer = f"http://{address}:{ETCD_PEER}"
        words = ["etcd", "--name", "servesweep", "--data-dir", f"{binding.scratch}/etcd"]
        words += ["--listen-client-urls", f"http://0.0.0.0:{ETCD_CLIENT}"]
        words += ["--advertise-client-urls", f"http://{address}:{ETCD_CLIENT}"]
        words += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        return Command(argv=(*words, "--initial-cluster", f"servesweep={peer}"))

    def probe(self) -> Probe:
        """Its own health endpoint."""
        return Probe(kind="http", port=ETCD_CLIENT)

    def url(self, node: str, binding: Binding) -> str:
        """The client URL."""
        return f"http://{binding.addresses[node]}:{ETCD_CLIENT}"

    def discovery(self, url: str) -> dict[str, str]:
        """The client URL, and that Dynamo shall use it."""
        return {"ETCD_ENDPOINTS": url, "DYN_DISCOVERY_BACKEND": "etcd"}
