"""Workers that are started again when they exit: on the same nodes, GPUs and ports, all ranks together."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from servesweep.plan.plan import Plan, Step
from servesweep.recipe.restart import RestartSection
from servesweep.runtime.failure import exit_code, how_it_ended
from servesweep.runtime.probing import answers, http_session
from servesweep.runtime.restart_policy import Relaunch, Released, decide, life_name
from servesweep.runtime.restart_record import Event, RestartRecord, now
from servesweep.runtime.supervisor import Running, StartError, Supervisor

FIRST_INTERVAL_SECONDS = 0.2
# A port may be held by what the old life has left behind, until the kernel has cleared that away.
PORT_SECONDS = 10.0


@dataclass(eq=False)
class _Unit:
    """A logical worker: the processes that are started again together."""

    name: str
    policy: RestartSection
    steps: list[Step] = field(default_factory=list)
    released: bool = False
    busy: bool = False
    """Between an exit and the start of every process of the next life: further exits are part of it."""
    old: list[Running] = field(default_factory=list)
    missed: list[tuple[Running, int]] = field(default_factory=list)
    """Exits of processes of the next life before all of them were started."""
    event: Event | None = None
    task: asyncio.Task[None] | None = None


class Restarting:
    """Takes over from the supervisor the exits of workers whose role has a policy."""

    def __init__(self, supervisor: Supervisor, plan: Plan) -> None:
        self._supervisor, self._plan = supervisor, plan
        self._units = _units(plan)
        self._record = RestartRecord(
            supervisor.logs, {unit.name: unit.policy for unit in self._units.values()}
        )
        self._starting = asyncio.Lock()
        self._stopping = False
        if self._units:
            self._record.write()
            supervisor.takes_over = self.takes

    def takes(self, running: Running, code: int) -> bool:
        """Whether the exit is this one's matter; then the worker is started again, or being so already."""
        unit = self._units.get(worker_of(running.step))
        if unit is None or unit.released:
            return False
        if self._stopping:
            return True
        if unit.busy:
            if running not in unit.old:
                unit.missed.append((running, code))
            return True
        return self._judge(unit, running, code)

    async def stop(self) -> None:
        """Start nothing any more; what was on its way is recorded as stopped."""
        self._stopping = True
        async with self._starting:
            tasks = [unit.task for unit in self._units.values() if unit.task and not unit.task.done()]
            for task in tasks:
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for unit in self._units.values():
            if unit.event is not None and unit.event.outcome in ("scheduled", "relaunched"):
                unit.event.outcome = "stopped"
                self._record.write()

    def _judge(self, unit: _Unit, running: Running, code: int) -> bool:
        if unit.event is not None and unit.event.outcome == "relaunched":
            unit.event.outcome = "not_ready"
        decision = decide(unit.policy, self._record.count(unit.name), exit_code(code))
        if isinstance(decision, Released):
            unit.released = True
            if decision.exhausted:
                self._record.spent.add(unit.name)
                self._note(unit, running, code, None)
                told = f"max_restarts={unit.policy.max_restarts} reached, giving up"
                self._supervisor.say(f"{unit.name}: {told}")
            self._record.write()
            return False
        unit.busy, unit.missed, unit.old = True, [], [running]
        self._note(unit, running, code, decision)
        self._supervisor.say(
            f"worker {running.name} on {running.host} {how_it_ended(code)}: starting {unit.name} again in"
            f" {decision.delay_seconds:g} s (restart {decision.attempt}/{unit.policy.max_restarts})"
        )
        earlier = unit.task
        unit.task = asyncio.create_task(self._relaunch(unit, running, decision))
        if earlier is not None and earlier is not asyncio.current_task():
            earlier.cancel()  # it waited for the life that has just ended
        return True

    def _note(self, unit: _Unit, running: Running, code: int, decision: Relaunch | None) -> None:
        """Record an exit; without a decision for a relaunch it is the last one."""
        step = running.step
        unit.event = Event(
            worker=unit.name,
            mode=step.mode,
            index=step.index,
            node=running.host,
            attempt=decision.attempt if decision else self._record.count(unit.name) + 1,
            exit_code=exit_code(code),
            exited_at=now(),
            outcome="scheduled" if decision else "exhausted",
            backoff_seconds=decision.delay_seconds if decision else None,
            engine=step.engine,
        )
        self._record.events.append(unit.event)
        self._record.write()

    async def _relaunch(self, unit: _Unit, first: Running, decision: Relaunch) -> None:
        """End what is left of the worker, wait, start all of it, wait until it serves."""
        event, due = unit.event, time.monotonic() + decision.delay_seconds
        assert event is not None
        # A rank may exit while the further ones of its worker are still to be started for the first time.
        while len(self._lives(unit)) < len(unit.steps):
            await asyncio.sleep(FIRST_INTERVAL_SECONDS)
        unit.old, unit.missed = self._lives(unit), []
        await self._supervisor.end(unit.old)
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        try:
            for running in unit.old:
                kept = running.log.with_name(f"{running.log.name}.{decision.attempt}")
                running.log.rename(kept)
                if running is first:
                    event.crash_log = f"{self._supervisor.logs.name}/{kept.name}"
            async with self._starting:
                new = [await self._start(unit, step, decision.attempt) for step in unit.steps]
        except (StartError, OSError) as error:
            await self._give_up(unit, event, first, error)
            return
        event.outcome, event.relaunched_at = "relaunched", now()
        self._record.write()
        unit.busy = False
        self._supervisor.say(
            f"started {unit.name} again as {', '.join(one.name for one in new)} (restart {decision.attempt}/"
            f"{unit.policy.max_restarts}): waiting up to {self._plan.resolved.health_check.timeout_seconds:g}"
            " s until it serves"
        )
        for running, code in unit.missed[:1]:
            if not self._judge(unit, running, code):
                self._supervisor.judge(running, code)
            return
        await self._until_it_serves(unit, event)

    def _lives(self, unit: _Unit) -> list[Running]:
        """The processes of a worker that were started last, ended ones too."""
        return [one for one in self._supervisor.running if worker_of(one.step) == unit.name]

    async def _start(self, unit: _Unit, step: Step, attempt: int) -> Running:
        host = self._supervisor.launcher.allocation.host(step.node).host
        twins = [one for one in unit.steps if one.node == step.node]
        name = life_name(step.mode, step.index, step.name, host, attempt, twin=step is not twins[0])
        deadline = time.monotonic() + PORT_SECONDS
        while True:
            try:
                return await self._supervisor.start(step, name)
            except StartError:
                if self._stopping or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(FIRST_INTERVAL_SECONDS)

    async def _give_up(self, unit: _Unit, event: Event, first: Running, error: Exception) -> None:
        """A worker that cannot even be started again is gone: `critical` decides."""
        await self._supervisor.end(self._lives(unit))
        event.outcome, unit.released, unit.busy = "launch_failed", True, False
        self._record.write()
        failure = self._supervisor.failure_that(first, f"could not be started again: {error}")
        self._supervisor.report(failure, first.step.critical)

    async def _until_it_serves(self, unit: _Unit, event: Event) -> None:
        """Record when the new life is ready; one that is not within the gate's patience is left running."""
        patience, began = self._plan.resolved.health_check, time.monotonic()
        waited = [(step, step.probe) for step in unit.steps if step.probe is not None]
        interval = FIRST_INTERVAL_SECONDS
        async with http_session() as session:
            while waited:
                step, probe = waited[0]
                address = self._plan.deployment.address(probe.node or step.node)
                if await answers(session, address, probe):
                    waited.pop(0)
                    continue
                if time.monotonic() - began > patience.timeout_seconds:
                    event.outcome = "not_ready"
                    self._record.write()
                    told = f"does not serve after {patience.timeout_seconds:g} s: it is left running"
                    self._supervisor.say(f"{unit.name} {told}")
                    return
                await asyncio.sleep(interval)
                interval = min(1.5 * interval, patience.interval_seconds)
        event.outcome, event.ready_at = "ready", now()
        event.ready_seconds = round(time.monotonic() - began, 3)
        self._record.write()
        self._supervisor.say(f"{unit.name} serves again after {event.ready_seconds:.1f} s")


def worker_of(step: Step) -> str:
    """The logical worker of a process: `decode_1`; a standby engine of it is a worker of its own."""
    return f"{step.mode}_{step.index}" + (f"_e{step.engine}" if step.engine else "")


def _units(plan: Plan) -> dict[str, _Unit]:
    """Every worker whose role has another policy than never."""
    roles = plan.resolved.roles
    policies = {mode: role.restart for mode, role in roles.items()} if roles else {}
    found: dict[str, _Unit] = {}
    for step in plan.steps:
        policy = policies.get(step.mode or "")
        if step.kind == "worker" and policy is not None and policy.policy != "never":
            name = worker_of(step)
            found.setdefault(name, _Unit(name, policy)).steps.append(step)
    return found
