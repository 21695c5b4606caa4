"""Asking a process whether it is ready."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING

from servesweep.topology.deployment import Probe

if TYPE_CHECKING:
    import aiohttp

PROBE_SECONDS = 5.0


def http_session() -> aiohttp.ClientSession:
    """Whom HTTP is asked through. Few supervisors need one, and to load it takes a tenth of a second."""
    import aiohttp

    return aiohttp.ClientSession()


async def answers(session: aiohttp.ClientSession, address: str, probe: Probe) -> bool:
    """Whether the probe finds the process ready, within PROBE_SECONDS."""
    import aiohttp

    try:
        if probe.kind == "http":
            timeout = aiohttp.ClientTimeout(total=PROBE_SECONDS)
            async with session.get(f"http://{address}:{probe.port}{probe.path}", timeout=timeout) as response:
                if response.status != probe.status:
                    return False
                return probe.body is None or bool(re.search(probe.body, await response.text()))
    except (OSError, aiohttp.ClientError, TimeoutError):
        return False
    return await accepts(address, probe.port)


async def accepts(address: str, port: int) -> bool:
    """Whether a process listens on a port, within PROBE_SECONDS."""
    try:
        # `wait_for` (Python 3.11) loses a cancellation that comes together with the answer.
        async with asyncio.timeout(PROBE_SECONDS):
            _, writer = await asyncio.open_connection(address, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
