"""Whether a process listens on a port, and that nobody waits for the answer who was told not to."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator

import pytest

from servesweep.runtime.probing import accepts

HERE = "127.0.0.1"
MOMENTS = 30


@contextlib.contextmanager
def bound(*, listening: bool) -> Iterator[int]:
    with socket.socket() as server:
        server.bind((HERE, 0))
        if listening:
            server.listen(MOMENTS)
        yield server.getsockname()[1]


async def cancelled_after(moments: int, port: int) -> bool | None:
    """Cancel the probe after so many turns of the loop; whether it is, None where it was over before."""
    probe = asyncio.create_task(accepts(HERE, port))
    for _ in range(moments):
        await asyncio.sleep(0)
        # As where the whole process is busy meanwhile: the answer is there at once.
        time.sleep(0.001)
    if probe.done():
        return None
    probe.cancel()
    await asyncio.wait([probe])
    return probe.cancelled()


@pytest.mark.parametrize("listening", [True, False])
def test_a_port_that_is_asked(listening: bool) -> None:
    with bound(listening=listening) as port:
        assert asyncio.run(accepts(HERE, port)) is listening


@pytest.mark.parametrize("listening", [True, False])
def test_a_probe_that_is_cancelled_is_over_at_any_moment(listening: bool) -> None:
    with bound(listening=listening) as port:
        told = [asyncio.run(cancelled_after(moments, port)) for moments in range(MOMENTS)]
    assert told[0] is True
    assert False not in told
    assert told[-1] is None
