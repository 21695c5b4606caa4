"""A run's stages: services, workers, frontends, the gate, further services, the points."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from servesweep.evidence.files import RunFiles, write_atomically
from servesweep.evidence.lockfile import identity_lines
from servesweep.evidence.points import gate_is_open, open_points, read_json
from servesweep.evidence.restarts import note_restarts
from servesweep.plan.plan import Plan
from servesweep.recipe.services import Start
from servesweep.runtime.nested import run_nested_workflow
from servesweep.runtime.preloading import Preloaded
from servesweep.runtime.progress import tell_progress, tell_valid
from servesweep.runtime.services import end_of_terminal_services, ready_services, start_services
from servesweep.runtime.supervisor import Supervisor

BEFORE_WORKERS: tuple[Start, ...] = ("infra", "before_workers")


class Stages:
    """The way from an empty allocation to measured points; the supervisor is told where it is."""

    def __init__(
        self,
        files: RunFiles,
        plan: Plan,
        supervisor: Supervisor,
        snakemake: Preloaded,
        say: Callable[[str], None],
    ) -> None:
        self.files, self.plan, self.supervisor, self.say = files, plan, supervisor, say
        self._snakemake = snakemake
        self.exit_code = 1
        self._told_open = False

    async def go(self) -> None:
        """Start everything that the points are measured on, pass the gate, measure the open points.

        The nested workflow starts beside the deployment, which its gate waits for: to load Snakemake takes as
        long as a small model does.

        Raises:
            StartError, NotReadyError, UnhealthyError, OSError: what could not be started or waited for.
        """
        late = any(step.start == "after_frontend" for step in self.plan.steps)
        gate_first = late and any(step.kind != "service" for step in self.plan.steps)
        nested = asyncio.create_task(self._nested(self._snakemake, [] if gate_first else self._open()))
        try:
            await self._deploy()
            if gate_first:
                await self._pass(nested)
                if not gate_is_open(self.files):
                    return
            self.supervisor.stage = "services"
            await start_services(self.supervisor, self.plan, "after_frontend")
            points = self._nested(Preloaded(), self._open()) if gate_first else self._pass(nested)
            await self._measure(points)
        finally:
            nested.cancel()
            # What failed first is what is raised.
            await asyncio.gather(nested, return_exceptions=True)

    def _open(self) -> list[str]:
        return [point.id for point in open_points(self.files, self.plan)]

    async def _deploy(self) -> None:
        self.supervisor.stage = "services"
        for start in BEFORE_WORKERS:
            await start_services(self.supervisor, self.plan, start)
        beside = await start_services(self.supervisor, self.plan, "with_workers")
        await self._start("worker", "workers")
        self.supervisor.stage = "services"
        await ready_services(self.supervisor, self.plan, beside)
        await self._start("frontend", "frontend")

    async def _start(self, kind: str, stage: str) -> None:
        self.supervisor.stage = stage
        for step in self.plan.steps:
            if step.kind == kind:
                if step.after_workers:
                    await self._workers_ready()
                await self.supervisor.start(step)

    async def _workers_ready(self) -> None:
        """Return when every worker is ready, which some frontends need before they start."""
        from servesweep.runtime.health_gate import Gate

        hosts = {host["name"]: host["host"] for host in read_json(self.files.allocation)["hosts"]}
        await Gate(self.plan, self.files.logs, hosts, self.say).workers_ready()

    async def _pass(self, nested: asyncio.Task[None]) -> None:
        """Have the gate begin, and wait for the workflow that it is part of."""
        self.supervisor.stage = "health_gate"
        write_atomically(self.files.deployed, "")
        await nested

    async def _measure(self, points: Coroutine[Any, Any, None]) -> None:
        self.supervisor.stage = "health_gate"
        ending = asyncio.create_task(self._end_with_terminal_services())
        try:
            await points
        finally:
            ending.cancel()

    async def _end_with_terminal_services(self) -> None:
        """The worst of their exit codes is the job's; one that is not 0 is the failure of the run."""
        if not self.plan.deployment.terminal:
            return
        code, failure = await end_of_terminal_services(self.supervisor, self.plan)
        if failure is not None and not self.supervisor.failed.done():
            self.exit_code = code
            self.supervisor.failed.set_result(failure)

    async def _nested(self, snakemake: Preloaded, points: list[str]) -> None:
        def opened() -> None:
            if points:
                self.supervisor.stage = "benchmark"
            if not self._told_open:
                self._told_open = True
                self.say("the health gate is open")
                for line in identity_lines(self.files, self.plan):
                    self.say(line)

        told = {point.id for point in self.plan.points} - set(self._open())
        progress = asyncio.create_task(tell_progress(self.files, self.plan, told, opened, self.say))
        try:
            await run_nested_workflow(snakemake, self.files, points, self.files.logs / "allocation.log")
            tell_valid(self.files, self.plan, told, self.say)
        finally:
            progress.cancel()
            with contextlib.suppress(OSError):
                note_restarts(self.files, self.plan)
