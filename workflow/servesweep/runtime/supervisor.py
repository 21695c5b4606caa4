"""One supervisor for every process of a deployment: who runs, who died first, and the end of all of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from servesweep.plan.plan import Step
from servesweep.runtime.failure import Failure, how_it_ended, signal_name, tail
from servesweep.runtime.launchers import Launcher, LaunchError, launch_of
from servesweep.runtime.probing import accepts
from servesweep.runtime.spawning import spawn

TERM_GRACE_SECONDS = 10.0
# Slurm kills everything 30 s after its own SIGTERM: those who end later have less time.
LATER_GRACE_SECONDS = 6.0


@dataclass(eq=False)
class Running:
    """A started step; `name` is that of the launch, another one in each of its lives."""

    step: Step
    host: str
    log: Path
    process: asyncio.subprocess.Process
    name: str
    ended: asyncio.Task[int] = field(init=False)

    def __post_init__(self) -> None:
        self.ended = asyncio.create_task(self.process.wait())


class Supervisor:
    """Starts steps, notices the first critical exit, ends everything."""

    def __init__(
        self,
        launcher: Launcher,
        logs: Path,
        say: Callable[[str], None],
        failed: asyncio.Future[Failure] | None = None,
    ) -> None:
        self.launcher = launcher
        self.logs = logs
        self.say = say
        self.stage = "allocation"
        self.running: list[Running] = []
        self.failed = failed or asyncio.get_running_loop().create_future()
        # Asked first about every exit that nobody asked for: whether it is somebody else's matter.
        self.takes_over: Callable[[Running, int], bool] = lambda running, code: False
        self._stopping = False
        self._watchers: set[asyncio.Task[None]] = set()

    async def start(self, step: Step, name: str | None = None) -> Running:
        """Start one step; its exit, unless asked for, is a failure when the step is critical.

        A further life of it has a `name` of its own.

        Raises:
            StartError: where its program is missing, or its port is another process's.
            OSError: where its files cannot be written.
        """
        host = self.launcher.allocation.host(step.node).host
        await self._check_port(step, host)
        log = self.logs / step.log.format(host=host)
        log.parent.mkdir(parents=True, exist_ok=True)
        for path, text in step.command.files.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
        try:
            launch = launch_of(step, log)
            words = self.launcher.words(replace(launch, name=name or launch.name))
        except LaunchError as error:
            raise StartError(step, host, str(error)) from None
        log.touch()  # a log that cannot be written is not the program's fault
        try:
            process = await spawn(words, log)
        except OSError as error:
            raise StartError(step, host, f"{words[0]}: {error.strerror}") from None
        running = Running(step, host, log, process, name or step.name)
        self.running.append(running)
        watcher = asyncio.create_task(self._watch(running))
        self._watchers.add(watcher)
        watcher.add_done_callback(self._watchers.discard)
        self.say(f"started {running.name} on {host}")
        return running

    async def _check_port(self, step: Step, host: str) -> None:
        """Another server on the port would be taken for the worker, and measured."""
        address = self.launcher.allocation.host(step.node).address
        asked = step.readiness.probes if step.readiness else (step.probe,) if step.probe else ()
        for port in dict.fromkeys(probe.port for probe in asked if probe.node is None):
            if await accepts(address, port):
                raise StartError(step, host, f"another process already listens on port {port}")

    async def _watch(self, running: Running) -> None:
        code = await running.ended
        if not self._stopping and not self.takes_over(running, code):
            self.judge(running, code)

    def judge(self, running: Running, code: int) -> None:
        """An exit that nobody asked for ends the run, if the process is critical."""
        # A worker has to serve until the end; a service may be done.
        harmless = running.step.kind == "service" and code == 0
        self.report(self.failure_of(running, code), running.step.critical and not harmless)

    def report(self, failure: Failure, critical: bool) -> None:
        """Let a failure end the run, or only tell it."""
        if critical and not self.failed.done():
            self.failed.set_result(failure)
        else:
            self.say(failure.message)

    def failure_of(self, running: Running, code: int, more: str = "") -> Failure:
        """Describe the exit of a process; `more` ends the sentence."""
        died = signal_name(code)
        failure = self.failure_that(running, how_it_ended(code, tail(running.log)) + more)
        return failure.model_copy(update={"exit_code": None if died else code, "signal": died})

    def failure_that(self, running: Running, what: str) -> Failure:
        """Describe what a process has done or left undone."""
        return Failure(
            stage=self.stage,
            message=f"{running.step.kind} {running.step.name} on {running.host} {what}",
            step=running.step.name,
            node=running.host,
            log=f"{self.logs.name}/{running.log.relative_to(self.logs)}",
            tail=tail(running.log),
        )

    async def end(self, lives: Sequence[Running]) -> None:
        """SIGTERM to some of them, SIGKILL to those still there after the grace; they are forgotten."""
        alive = [running for running in lives if not running.ended.done()]
        for running in alive:
            await self.launcher.terminate(running.name, running.process.pid)
        if alive:
            await asyncio.wait([running.ended for running in alive], timeout=TERM_GRACE_SECONDS)
        for running in alive:
            if not running.ended.done():
                await self.launcher.kill(running.name, running.process.pid)
        if alive:
            await asyncio.wait([running.ended for running in alive], timeout=TERM_GRACE_SECONDS)
        for running in lives:
            # Also what a process that is gone has left behind in its session.
            _signal_session(running, signal.SIGKILL)
        self.running = [running for running in self.running if running not in lives]

    async def stop(self) -> None:
        """SIGTERM to all in reverse order, SIGKILL to those still there after the grace, then the rest.

        What others need is asked to end last: the services that were started before the workers.
        """
        self._stopping = True
        grace = TERM_GRACE_SECONDS
        for tier in _tiers(self.running):
            for running in tier:
                await self.launcher.terminate(running.name, running.process.pid)
            await asyncio.wait([running.ended for running in tier], timeout=grace)
            grace = LATER_GRACE_SECONDS
        # A step of Slurm whose task is gone waits for the task's children: they end with the step.
        await self.launcher.sweep_up()
        for running in self.running:
            # The leader may be gone while a child of it still holds the port: the whole session goes.
            _signal_session(running, signal.SIGKILL)
        alive = [running.ended for running in self.running if not running.ended.done()]
        if alive:
            await asyncio.wait(alive, timeout=TERM_GRACE_SECONDS)


def _tiers(started: list[Running]) -> list[list[Running]]:
    """Who is alive, in the order in which they end together: the last started first."""
    alive = [running for running in reversed(started) if not running.ended.done()]
    early = {start: [r for r in alive if r.step.start == start] for start in ("before_workers", "infra")}
    rest = [running for running in alive if running.step.start not in early]
    return [tier for tier in (rest, *early.values()) if tier]


class StartError(Exception):
    """A step that could not be started at all."""

    def __init__(self, step: Step, host: str, message: str) -> None:
        super().__init__(message)
        self.step, self.host = step, host


def _signal_session(running: Running, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(running.process.pid, number)
