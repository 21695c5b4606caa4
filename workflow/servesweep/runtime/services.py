"""Waiting for a service before those that need it are started."""

from __future__ import annotations

import asyncio
import time

import aiohttp

from servesweep.plan.plan import Plan
from servesweep.runtime.probing import answers
from servesweep.runtime.supervisor import Running, StartError

TIMEOUT_SECONDS = 120.0
INTERVAL_SECONDS = 0.2


async def wait_for_service(running: Running, plan: Plan) -> None:
    """Return when the service answers its probe.

    Raises:
        StartError: when it ended, or does not answer in time.
    """
    probe = running.step.probe
    if probe is None:
        return
    address = plan.deployment.address(running.step.node)
    deadline = time.monotonic() + TIMEOUT_SECONDS
    async with aiohttp.ClientSession() as session:
        while not await answers(session, address, probe):
            if running.ended.done():
                # The supervisor's watcher tells this exit with its code and log.
                await asyncio.sleep(INTERVAL_SECONDS)
                raise StartError(running.step, running.host, "it ended before it was ready")
            if time.monotonic() > deadline:
                raise StartError(running.step, running.host, f"not ready after {TIMEOUT_SECONDS:g} s")
            await asyncio.sleep(INTERVAL_SECONDS)
