"""Ports that never collide on a network address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from servesweep.topology.ports import HIGHEST, PortBlock, PortError
from servesweep.topology.windows import room, within

NO_WINDOWS: Mapping[str, int] = {}


def own_address(node: str) -> str:
    """Address of a node where every node has its own."""
    return node


class _Claim(NamedTuple):
    address: str
    first: int
    many: int
    owner: str
    block: PortBlock | None

    def __str__(self) -> str:
        return f"the {self.block.name} port of {self.owner}" if self.block else self.owner


class PortBook:
    """Hands out ports of blocks and remembers who has them.

    `address_of` says which nodes are one host to the network: on one machine all of them, so that nothing
    collides. `windows` are those of nodes that other jobs share; there each number counts on its own node.
    """

    def __init__(
        self, address_of: Callable[[str], str] = own_address, windows: Mapping[str, int] = NO_WINDOWS
    ) -> None:
        self._address_of, self._windows = address_of, windows
        self._used: Counter[tuple[str, PortBlock]] = Counter()
        self._claims: list[_Claim] = []

    def on_address(self, block: PortBlock, node: str, owner: str) -> int:
        """Next port of the block on the node's address."""
        port = self._next(block, node, self._address_of(node), owner)
        self.claim(node, port, owner, block)
        return port

    def everywhere(self, block: PortBlock, node: str, owner: str, count: int = 1) -> int:
        """First of `count` ports of the block that no other process of the deployment has."""
        port = self._next(block, node, self._address_of(node) if self.shared(node) else "", owner, count)
        self.claim(node, port, owner, block, count)
        return port

    def number(self, block: PortBlock, count: int = 1) -> int:
        """Like `everywhere`, without saying on which node the ports are used: that is left to `claim`."""
        port = block.base + block.stride * self._used["", block]
        self._used["", block] += count
        return port

    def shared(self, node: str) -> bool:
        """Whether the node has ports of other jobs, so that ours lie in a window."""
        return self._windows.get(node, 0) != 0

    def following(self, block: PortBlock, node: str, leading: PortBlock, port: int, owner: str) -> int:
        """The port of the block with the same number as a port of the leading block on the node."""
        number = (port - self._base(leading, node)) // leading.stride
        found = self._base(block, node) + block.stride * number
        self.claim(node, found, owner, block)
        return found

    def _base(self, block: PortBlock, node: str) -> int:
        return within(self._windows.get(node, 0), block.base)

    def _next(self, block: PortBlock, node: str, scope: str, owner: str, count: int = 1) -> int:
        used = self._used[scope, block]
        if self.shared(node) and used + count > room(block):
            raise PortError(
                f"{owner} has no {block.name} port: {self._address_of(node)} is shared with other jobs, and"
                f" leaves this one {room(block)} of them: ask for whole nodes (--exclusive)"
            )
        self._used[scope, block] += count
        return self._base(block, node) + block.stride * used

    def claim(self, node: str, port: int, owner: str, block: PortBlock | None = None, count: int = 1) -> None:
        """Note that a port, or `count` numbers of a block from it on, is used on a node."""
        ports = block.stride * count if block else count
        self._claims.append(_Claim(self._address_of(node), port, ports, owner, block))

    def check(self) -> None:
        """Make sure that no port is claimed twice.

        Raises:
            PortError: naming the address, the port and both owners.
        """
        for claim in self._claims:
            last = claim.first + claim.many - 1
            if last > HIGHEST:
                raise PortError(f"{claim} would be {last}, beyond {HIGHEST}: too many workers")
        for left, right in pairwise(sorted(self._claims, key=itemgetter(0, 1))):
            if left.address == right.address and left.first + left.many > right.first:
                raise PortError(
                    f"{left} and {right} both need port {right.first} of {right.address}:"
                    " too many workers on one address"
                )
