"""Every fixed port, and ports that never collide on a network address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class PortBlock:
    """A range of ports: the number k gets `base + k * stride` and owns `stride` ports from there."""

    name: str
    base: int
    stride: int = 1


# Worker processes. Bases and strides as in srt-slurm (https://github.com/NVIDIA/srt-slurm, `ports.py`),
# except for kv events, where its documentation and not its code is followed.
NIXL = PortBlock("NIXL side channel", 5400)  # each process, one number over the deployment
KV_EVENTS = PortBlock(
    "kv events", 5550
)  # each worker leader, one number over the deployment, in order of role
WORKER_HTTP = PortBlock("worker HTTP", 6100, 32)  # each worker leader, by address
BOOTSTRAP = PortBlock("prefill bootstrap", 7200)  # each prefill worker, by its leader's address
DYNAMO_SYSTEM = PortBlock("Dynamo system", 7500)  # each process, one number over the deployment
DIST_INIT = PortBlock("SGLang dist-init", 8300)  # each worker of several nodes, by its leader's address
DP_RPC = PortBlock("vLLM data-parallel RPC", 8400)  # each data-parallel worker, by its leader's address
NCCL = PortBlock("SGLang NCCL", 17500)  # follows the Dynamo system port
KVBM = PortBlock("KVBM leader", 5800, 2)  # publishing and acknowledging; follows the Dynamo system port
VLLM = PortBlock("VLLM_PORT", 20000, 50)  # follows the Dynamo system port; vLLM takes further ports upwards
# MoRI-IO's own listeners of each process: one for each of its GPUs, one row over the deployment.
MORIIO_HANDSHAKE = PortBlock("MoRI-IO handshake", 26000)
MORIIO_NOTIFY = PortBlock("MoRI-IO notify", 27000)

# Replicas (swiss-ai/model-launch ADR-0001): one a node set, so 8080 on every head.
REPLICA_HTTP = PortBlock("replica HTTP", 8080)
REPLICA_ROUTER = 30000  # the in-job router over replicas
OPENTELA = (8092, 8093, 43905)  # OpenTela around a replica's head, one a host
RAY = 6379  # head of the Ray cluster of a replica over several nodes, or of a service

# Frontends.
PUBLIC = 8000  # where clients ask
DIRECT = PortBlock("public worker", PUBLIC)  # the one worker that clients ask without a frontend
VLLM_DISCOVERY = 36367  # where vLLM's workers register with their router, if they do
INTERNAL = PortBlock("frontend behind nginx", 8180)  # each frontend, by address

# Services.
ETCD_CLIENT = 2379
ETCD_PEER = 2380
NATS = 4222
MOONCAKE_RPC = 8700
MOONCAKE_METADATA = 8701
MOONCAKE_METRICS = 8702
LMCACHE_SERVER = 8750
LMCACHE_CONTROL = 8751
RAY_DASHBOARD = 8265
NODE_EXPORTER = 9101
PROCESS_EXPORTER = 9256
DCGM_EXPORTER = 9401

HIGHEST = 65535


class PortError(ValueError):
    """Two things want the same port of an address, or a port is beyond 65535."""


def own_address(node: str) -> str:
    """Address of a node where every node has its own."""
    return node


@dataclass(frozen=True, slots=True)
class _Claim:
    address: str
    first: int
    count: int
    owner: str


class PortBook:
    """Hands out ports of blocks and remembers who has them.

    `address_of` says which nodes are one host to the network: on one machine all of them, so that nothing
    collides.
    """

    def __init__(self, address_of: Callable[[str], str] = own_address) -> None:
        self._address_of = address_of
        self._used: Counter[tuple[str, PortBlock]] = Counter()
        self._claims: list[_Claim] = []

    def on_address(self, block: PortBlock, node: str, owner: str) -> int:
        """Next port of the block on the node's address."""
        port = self._next(block, self._address_of(node))
        self.claim(node, port, owner, block)
        return port

    def everywhere(self, block: PortBlock, node: str, owner: str, count: int = 1) -> int:
        """First of `count` ports of the block that no other process of the deployment has."""
        port = self.number(block, count)
        self.claim(node, port, owner, block, count)
        return port

    def number(self, block: PortBlock, count: int = 1) -> int:
        """Like `everywhere`, without saying on which node the ports are used: that is left to `claim`."""
        return self._next(block, "", count)

    def _next(self, block: PortBlock, scope: str, count: int = 1) -> int:
        port = block.base + block.stride * self._used[scope, block]
        self._used[scope, block] += count
        return port

    def claim(self, node: str, port: int, owner: str, block: PortBlock | None = None, count: int = 1) -> None:
        """Note that a port, or `count` numbers of a block from it on, is used on a node."""
        stride, name = (block.stride, f"the {block.name} port of ") if block else (1, "")
        self._claims.append(_Claim(self._address_of(node), port, stride * count, f"{name}{owner}"))

    def check(self) -> None:
        """Make sure that no port is claimed twice.

        Raises:
            PortError: naming the address, the port and both owners.
        """
        for claim in self._claims:
            last = claim.first + claim.count - 1
            if last > HIGHEST:
                raise PortError(f"{claim.owner} would be {last}, beyond {HIGHEST}: too many workers")
        for left, right in pairwise(sorted(self._claims, key=lambda claim: (claim.address, claim.first))):
            if left.address == right.address and left.first + left.count > right.first:
                raise PortError(
                    f"{left.owner} and {right.owner} both need port {right.first} of {right.address}:"
                    " too many workers on one address"
                )
