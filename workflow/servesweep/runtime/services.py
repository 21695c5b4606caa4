"""Services in the order of their start: launched, waited for, and those whose end is the end of the job."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from servesweep.evidence.files import write_atomically
from servesweep.plan.plan import Plan
from servesweep.recipe.services import Start
from servesweep.runtime.failure import Failure, exit_code
from servesweep.runtime.probing import http_session
from servesweep.runtime.readiness import Waited
from servesweep.runtime.supervisor import Running, Supervisor
from servesweep.topology.deployment import ended_file

FIRST_INTERVAL_SECONDS = 0.1


class NotReadyError(Exception):
    """A service that did not become ready; carries what a reader needs."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


async def start_services(supervisor: Supervisor, plan: Plan, start: Start) -> list[Running]:
    """Start the services of a phase one after the other, each when the one before it is ready.

    Those of `with_workers` are only launched: they are waited for later, by `ready_services`.

    Raises:
        StartError: as the supervisor.
        NotReadyError: where one ended, or was not ready in time.
    """
    started = []
    for step in plan.steps:
        if step.kind == "service" and step.start == start:
            running = await supervisor.start(step)
            started.append(running)
            if start != "with_workers":
                await wait_for_service(supervisor, running, plan)
    return started


async def ready_services(supervisor: Supervisor, plan: Plan, launched: list[Running]) -> None:
    """Wait for services that were launched before, in their order.

    Raises:
        NotReadyError: where one ended, or was not ready in time.
    """
    for running in launched:
        await wait_for_service(supervisor, running, plan)


async def wait_for_service(supervisor: Supervisor, running: Running, plan: Plan) -> None:
    """Return when the service is ready; at once where nothing says when it is.

    Raises:
        NotReadyError: when it ended before, or is not ready in time.
    """
    readiness = running.step.readiness
    if readiness is None:
        return
    waited = Waited(readiness, running.step.node, running.log, plan.deployment)
    deadline = time.monotonic() + readiness.timeout_seconds
    interval = min(FIRST_INTERVAL_SECONDS, readiness.interval_seconds)
    async with http_session() as session:
        while True:
            # What a process has left behind counts, also when it has ended in the meantime.
            ended = running.ended.done()
            missing = await waited.missing(session)
            if missing is None:
                supervisor.say(f"{running.step.name} is ready")
                return
            if ended:
                code = running.ended.result()
                raise NotReadyError(supervisor.failure_of(running, code, f" before it was ready: {missing}"))
            if time.monotonic() > deadline:
                raise NotReadyError(_too_late(supervisor, running, readiness.timeout_seconds, missing))
            await asyncio.sleep(interval)
            interval = min(2 * interval, readiness.interval_seconds)


def _too_late(supervisor: Supervisor, running: Running, seconds: float, missing: str) -> Failure:
    failure = supervisor.failure_that(running, f"was not ready after {seconds:g} s: {missing}")
    return failure.model_copy(update={"message": f"{failure.message}; its log is {failure.log}"})


async def end_of_terminal_services(supervisor: Supervisor, plan: Plan) -> tuple[int, Failure | None]:
    """Wait until every terminal service has ended; tell a job that waits for it when all ended well.

    Returns:
        The worst exit code, and the failure of the service that had it; 0 and None when all ended well.
    """
    terminal = [running for running in supervisor.running if running.step.terminal]
    codes = await asyncio.gather(*(running.ended for running in terminal))
    worst = max(range(len(codes)), key=lambda at: exit_code(codes[at]))
    if code := exit_code(codes[worst]):
        return code, supervisor.failure_of(terminal[worst], codes[worst])
    supervisor.say("every terminal service has ended well")
    write_atomically(Path(ended_file(plan.deployment)), "0\n")
    return 0, None
