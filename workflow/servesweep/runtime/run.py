"""The run of one configuration inside its allocation, from the snapshot to the record."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from servesweep.evidence.files import RunFiles, sentence, write_atomically
from servesweep.evidence.fingerprint import with_fingerprints
from servesweep.evidence.lockfile import LOCKFILE, write_lockfile
from servesweep.evidence.points import gate_is_open, open_points, read_json, set_aside_stale
from servesweep.plan.plan import Plan, plan_text, read_plan
from servesweep.plan.preflight import preflight
from servesweep.plan.render import rebind
from servesweep.runtime.allocation import AllocationError, comment_job, find_allocation, stopped_by
from servesweep.runtime.cpu_signals import record_resources
from servesweep.runtime.health_gate import UnhealthyError
from servesweep.runtime.hosts import Hosts
from servesweep.runtime.launchers import launcher_of
from servesweep.runtime.outcome import clear_earlier_attempt, verdict, write_failure, write_record
from servesweep.runtime.processes import MARK
from servesweep.runtime.services import NotReadyError
from servesweep.runtime.stages import Stages
from servesweep.runtime.state import tell_state
from servesweep.runtime.supervisor import Failure, StartError, Supervisor
from servesweep.runtime.takeover import SupersededError, take_over

# A client sees that its worker is gone a moment before the supervisor does, and the worker failed first.
SETTLE_SECONDS = 1.0
Say = Callable[[str], None]


def run_configuration(root: Path, launcher: Literal["local", "slurm"], say: Say) -> int:
    """Run what `root/plan.json` says; 0 when every point is valid and the record is written.

    Every failure leaves `failure.json` and the logs.

    Raises:
        PlanError: where there is no usable plan.
    """
    files = RunFiles(root.resolve())
    plan = read_plan(files.plan)
    if plan.points and not open_points(files, plan):
        say("every point is already measured: nothing to start")
        try:
            write_record(files, plan, read_json(files.allocation))
        except OSError as error:
            say(sentence(error))
            return 1
        return 0
    return asyncio.run(_Run(files, plan, launcher, say).go())


class _Run:
    """One allocation's work."""

    def __init__(self, files: RunFiles, plan: Plan, launcher: Literal["local", "slurm"], say: Say) -> None:
        self.files, self.plan, self.launcher, self.say = files, plan, launcher, say
        self.supervisor: Supervisor | None = None
        self.hosts: Hosts | None = None
        self.stages: Stages | None = None
        self.superseded = False
        # Every process that is started from here on can be told from any other, also when we are gone.
        os.environ[MARK] = str(files.root)

    async def go(self) -> int:
        """Work, then end every process, then say what came of it."""
        self.failed: asyncio.Future[Failure] = asyncio.get_running_loop().create_future()
        telling = asyncio.create_task(tell_state(self.files.logs, lambda: self.supervisor))
        with self._signals():
            try:
                failure = await self._first_failure()
            finally:
                if self.supervisor is not None:
                    self.supervisor.stage = "teardown"
                    await self.supervisor.stop()
                    if self.hosts is not None:
                        await self.hosts.leave()
                    shutil.rmtree(self.plan.deployment.binding.scratch, ignore_errors=True)
                telling.cancel()
            return self._conclude(failure)

    async def _first_failure(self) -> Failure | None:
        """Race the work against the first critical exit and the first signal."""
        work = asyncio.create_task(self._work())
        either: list[asyncio.Future[Any]] = [work, self.failed]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if work.done() and work.result() is not None:
            await asyncio.wait([self.failed], timeout=SETTLE_SECONDS)
        failure = self.failed.result() if self.failed.done() else work.result()
        if failure is not None and not self.superseded:
            if failure.stage == "health_gate" and gate_is_open(self.files):
                failure = failure.model_copy(update={"stage": "benchmark"})
            # At once: whoever stops us may not wait for the end of everything else.
            write_failure(self.files, self.plan, failure, self.say)
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work
        return failure

    async def _work(self) -> Failure | None:
        """Everything up to the verdict; whatever goes wrong becomes one sentence."""
        try:
            supervisor = self.supervisor = await self._prepare()
            supervisor.stage = "hosts"
            self.hosts = Hosts(self.plan, self.files, supervisor.launcher, self.say)
            await self.hosts.prepare()
            self.stages = stages = Stages(self.files, self.plan, supervisor, self.say)
            await stages.deploy()
            await stages.measure()
            return verdict(self.files, self.plan)
        except SupersededError as error:
            self.superseded = True
            self.say(str(error))
            return Failure(stage=self._stage(), message=str(error))
        except AllocationError as error:
            return Failure(stage=self._stage(), message=str(error))
        except StartError as error:
            return Failure(
                stage=self._stage(),
                message=f"{error.step.name} could not be started on {error.host}: {error}",
                step=error.step.name,
                node=error.host,
            )
        except NotReadyError as error:
            return error.failure
        except UnhealthyError as error:
            return Failure(stage=self._stage(), message=str(error))
        except OSError as error:
            return Failure(stage=self._stage(), message=sentence(error))
        except Exception as error:
            return self._internal_error(error)

    async def _prepare(self) -> Supervisor:
        """Find the hosts, end earlier runs, clear the way, note what is used."""
        files = self.files
        # Hours may lie between the validation and the job.
        if missing := preflight(self.plan):
            raise AllocationError("; ".join(map(str, missing)))
        allocation = find_allocation(self.launcher, [node.name for node in self.plan.nodes])
        os.environ.update(allocation.past_the_proxy())
        await take_over(files, allocation, self.say)
        comment_job(allocation, self.plan.name, self.plan.slurm.comment)
        clear_earlier_attempt(files, self.plan)
        for point in set_aside_stale(files, self.plan):
            self.say(f"the earlier result of {point} does not count any more: it is measured again")
        self.plan = rebind(self.plan, allocation.binding(files.logs))
        write_atomically(files.allocation, allocation.model_dump_json(indent=1) + "\n")
        write_atomically(files.deployment, plan_text(self.plan))
        record_resources(files.logs, self.plan, allocation, self.say)
        # The lockfile proper is a workflow output: while the run goes on, it lies beside the logs.
        write_lockfile(files.root, self.plan, files.logs / LOCKFILE)
        # deployment.json keeps the engines' own words.
        self.plan = with_fingerprints(self.plan, files.logs)
        scratch = Path(self.plan.deployment.binding.scratch)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        return Supervisor(launcher_of(allocation), files.logs, self.say, self.failed)

    def _conclude(self, failure: Failure | None) -> int:
        try:
            if failure is None:
                write_record(self.files, self.plan, read_json(self.files.allocation))
                self.say("every point is valid")
            elif not self.superseded:
                write_lockfile(self.files.root, self.plan)
        except OSError as error:
            self.say(sentence(error))
            return 1
        if failure is None:
            return 0
        return self.stages.exit_code if self.stages else 1

    def _stage(self) -> str:
        return self.supervisor.stage if self.supervisor else "allocation"

    def _internal_error(self, error: Exception) -> Failure:
        log = self.files.logs / "internal_error.log"
        with contextlib.suppress(OSError):
            write_atomically(log, traceback.format_exc())
        message = f"internal error: {type(error).__name__}: {error}"
        return Failure(stage=self._stage(), message=message, log="logs/internal_error.log")

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """A signal is the first failure; a second one changes nothing."""
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

        def stop(number: signal.Signals) -> None:
            if not self.failed.done():
                message = stopped_by(number.name, self.launcher)
                self.failed.set_result(Failure(stage=self._stage(), message=message))

        for number in numbers:
            loop.add_signal_handler(number, stop, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)
