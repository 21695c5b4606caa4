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
from servesweep.evidence.lockfile import write_lockfile
from servesweep.evidence.points import gate_is_open, open_points, read_json, set_aside_stale
from servesweep.evidence.restarts import note_restarts
from servesweep.plan.plan import Plan, plan_text, read_plan
from servesweep.plan.preflight import preflight
from servesweep.plan.render import rebind
from servesweep.recipe.problems import RecipeError
from servesweep.runtime.allocation import (
    Allocation,
    AllocationError,
    comment_job,
    find_allocation,
    stopped_by,
    what_ends,
)
from servesweep.runtime.blot import Blot
from servesweep.runtime.blotted_files import blot_files
from servesweep.runtime.blotted_points import blot_points
from servesweep.runtime.cpu_signals import record_resources
from servesweep.runtime.failure import Failure
from servesweep.runtime.fence import until_replaced
from servesweep.runtime.hosts import Hosts
from servesweep.runtime.launchers import launcher_of
from servesweep.runtime.measuring import ready_clients
from servesweep.runtime.outcome import (
    clear_earlier_attempt,
    gate_failure,
    last_result,
    verdict,
    write_failure,
    write_record,
)
from servesweep.runtime.preloading import Preloaded
from servesweep.runtime.processes import MARK
from servesweep.runtime.restarting import Restarting
from servesweep.runtime.secrets import MissingSecretError, hand_over, opened
from servesweep.runtime.services import NotReadyError
from servesweep.runtime.sharing import told
from servesweep.runtime.stages import Stages
from servesweep.runtime.state import tell_state
from servesweep.runtime.supervisor import StartError, Supervisor
from servesweep.runtime.takeover import SupersededError, take_over
from servesweep.runtime.time_limit import margin_for, near_the_limit, out_of_time
from servesweep.runtime.unhealthy import UnhealthyError
from servesweep.topology.ports import PortError

# A client sees that its worker is gone a moment before the supervisor does, and the worker failed first.
SETTLE_SECONDS = 1.0
Say = Callable[[str], None]


def run_configuration(root: Path, launcher: Literal["local", "slurm"], say: Say, snakemake: Preloaded) -> int:
    """Run what `root/plan.json` says; 0 when every point is valid and the record is written.

    The gate and the points are left to `snakemake`, which is loading. Every failure leaves `failure.json` and
    the logs.

    Raises:
        PlanError: where there is no usable plan.
    """
    files = RunFiles(root.resolve())
    plan = read_plan(files.plan)
    # An attempt that was killed may not have told what its points were measured across.
    with contextlib.suppress(OSError):
        note_restarts(files, plan)
    if plan.points and not open_points(files, plan):
        say("every point is already measured: nothing to start")
        try:
            write_record(files, plan, read_json(files.allocation), ended=last_result(files, plan))
        except OSError as error:
            say(sentence(error))
            return 1
        return 0
    return asyncio.run(_Run(files, plan, launcher, say, snakemake).go())


class _Run:
    """One allocation's work."""

    def __init__(
        self,
        files: RunFiles,
        plan: Plan,
        launcher: Literal["local", "slurm"],
        say: Say,
        snakemake: Preloaded,
    ) -> None:
        self.files, self.plan, self.launcher, self.say = files, plan, launcher, say
        self.snakemake = snakemake
        self.supervisor: Supervisor | None = None
        self.hosts: Hosts | None = None
        self.stages: Stages | None = None
        self.restarting: Restarting | None = None
        self.superseded = False
        # What may be written down; the plan that processes are started by may not.
        self.planned = plan
        self.blot = Blot.of(())
        # Every process that is started from here on can be told from any other, also when we are gone.
        os.environ[MARK] = str(files.root)

    async def go(self) -> int:
        """Work, then end every process, then say what came of it."""
        self.failed: asyncio.Future[Failure] = asyncio.get_running_loop().create_future()
        self.blotting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        telling = asyncio.create_task(tell_state(self.files.logs, self._told))
        with self._signals():
            try:
                failure = await self._first_failure()
            finally:
                self.blotting.cancel()
                if self.supervisor is not None:
                    self.supervisor.stage = "teardown"
                    if self.restarting is not None:
                        await self.restarting.stop()
                    await self.supervisor.stop()
                    if self.hosts is not None:
                        await self.hosts.leave()
                    shutil.rmtree(self.plan.deployment.binding.scratch, ignore_errors=True)
                if not self.superseded:
                    self._blot_files()
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
            tail = tuple(map(self.blot, failure.tail))
            failure = failure.model_copy(update={"message": self.blot(failure.message), "tail": tail})
            if failure.stage == "health_gate" and gate_is_open(self.files):
                failure = failure.model_copy(update={"stage": "benchmark"})
            # At once: whoever stops us may not wait for the end of everything else.
            write_failure(self.files, self.plan, failure, self.say)
            self._lock()
        if self.restarting is not None:
            # Before the client ends, which may take a while: nothing is started for a run that is over.
            await self.restarting.stop()
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
            self.restarting = Restarting(supervisor, self.plan)
            self.stages = stages = Stages(self.files, self.plan, supervisor, self.snakemake, self.say)
            await stages.go()
            return verdict(self.files, self.plan)
        except SupersededError as error:
            self.superseded = True
            self.say(str(error))
            return Failure(stage=self._stage(), message=str(error))
        except (AllocationError, MissingSecretError) as error:
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
            return gate_failure(self.files, self._stage(), error.record())
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
        found = find_allocation(self.launcher, [node.name for node in self.plan.nodes])
        allocation = found.model_copy(update={"digest": self.plan.digest})
        os.environ.update(allocation.past_the_proxy())
        await take_over(files, allocation, self.say)
        comment_job(allocation, self.plan.name, self.plan.slurm.comment)
        clear_earlier_attempt(files, self.plan)
        for point in set_aside_stale(files, self.plan):
            self.say(f"the earlier result of {point} does not count any more: it is measured again")
        self.plan = self.planned = self._bound(allocation)
        write_atomically(files.allocation, allocation.model_dump_json(indent=1) + "\n")
        self.fence = asyncio.create_task(self._end_when_replaced(allocation))
        self.clock = asyncio.create_task(self._end_before_the_limit(allocation))
        write_atomically(files.deployment, plan_text(self.plan))
        ready_clients(files, self.plan, allocation)
        record_resources(files.logs, self.plan, allocation, self.say)
        write_lockfile(files.root, self.plan)
        # deployment.json keeps the engines' own words, and no file has a secret in it.
        self.plan = with_fingerprints(self._with_secrets(Path(allocation.project)), files.logs)
        scratch = Path(self.plan.deployment.binding.scratch)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        return Supervisor(launcher_of(allocation), files.logs, self.say, self.failed)

    def _with_secrets(self, project: Path) -> Plan:
        """The plan that processes are started by."""
        plan, values = opened(self.files, self.plan, project)
        hand_over(values)
        self.blot, say = Blot.of(values), self.say
        self.say = lambda line: say(self.blot(line))
        self.blotting = asyncio.create_task(blot_points(self.blot, self.files, self.plan))
        return plan

    def _blot_files(self) -> None:
        for path in blot_files(self.blot, self.files):
            self.say(
                f"{path}: a secret may stand in it, which could not be taken out: let nobody else read it"
            )

    def _lock(self) -> None:
        """What is known so far, in case that nobody is there any more to write it in the end."""
        with contextlib.suppress(OSError):
            write_lockfile(self.files.root, self.planned)

    def _bound(self, allocation: Allocation) -> Plan:
        """The plan for the allocation's hosts, with the ports that are ours there."""
        try:
            bound = rebind(self.plan, allocation.binding(self.files.logs))
        except (PortError, RecipeError) as error:
            raise AllocationError(str(error)) from None
        binding = bound.deployment.binding
        for line in told(binding.windows, binding.host):
            self.say(line)
        return bound

    def _conclude(self, failure: Failure | None) -> int:
        try:
            if not self.superseded:
                note_restarts(self.files, self.planned)
                write_lockfile(self.files.root, self.planned)
            if failure is None:
                write_record(self.files, self.plan, read_json(self.files.allocation))
                self.say("every point is valid")
        except OSError as error:
            self.say(sentence(error))
            return 1
        if failure is None:
            return 0
        return self.stages.exit_code if self.stages else 1

    async def _end_when_replaced(self, mine: Allocation) -> None:
        message = await until_replaced(self.files, mine)
        # What is told from here on belongs to the other run.
        self.superseded = True
        self.say(message)
        if not self.failed.done():
            self.failed.set_result(Failure(stage=self._stage(), message=message))

    async def _end_before_the_limit(self, mine: Allocation) -> None:
        if mine.job_id is None:
            return
        margin = margin_for(self.plan.resolved.host_setup)
        limit = await near_the_limit(mine.job_id, margin)
        if not self.failed.done():
            # A job that was cancelled while we started has an end in the past, too.
            message = what_ends(mine.job_id) or out_of_time(mine.job_id, limit, margin, self._undone())
            self.failed.set_result(Failure(stage=self._stage(), message=message))

    def _undone(self) -> list[str]:
        return [point.id for point in open_points(self.files, self.plan)]

    def _told(self) -> Supervisor | None:
        return None if self.superseded else self.supervisor

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
