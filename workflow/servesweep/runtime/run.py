"""The run of one configuration inside its allocation, from the snapshot to the record."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from servesweep.evidence.files import RunFiles, write_atomically
from servesweep.evidence.lockfile import LOCKFILE, write_lockfile
from servesweep.evidence.points import is_complete, open_points, read_json, set_aside_stale, why_open
from servesweep.evidence.snapshot import write_snapshot
from servesweep.plan.plan import Plan, plan_text, read_plan
from servesweep.plan.render import rebind
from servesweep.runtime.allocation import Allocation, AllocationError, find_allocation
from servesweep.runtime.launchers import launcher_of
from servesweep.runtime.launchers.launcher import base_environment
from servesweep.runtime.services import wait_for_service
from servesweep.runtime.supervisor import Failure, StartError, Supervisor, die_with_parent
from servesweep.runtime.takeover import SupersededError, take_over

ALLOCATION_WORKFLOW = Path(__file__).parents[2] / "allocation" / "Snakefile"
PROGRESS_SECONDS = 5.0
Say = Callable[[str], None]


def run_configuration(root: Path, launcher: Literal["local", "slurm"], say: Say) -> int:
    """Run what `root/plan.json` says; 0 when every point is valid and the record is written.

    Every failure leaves `failure.json` and the logs.
    """
    files = RunFiles(root.resolve())
    plan = read_plan(files.plan)
    if plan.points and not open_points(files, plan):
        say("every point is already measured: nothing to start")
        write_record(files, plan, read_json(files.allocation))
        return 0
    try:
        allocation = find_allocation(launcher, [node.name for node in plan.nodes])
        take_over(files, allocation, say)
    except (AllocationError, SupersededError) as error:
        return _fail(files, plan, Failure(stage="allocation", message=str(error)), say)
    return asyncio.run(_Run(files, plan, allocation, say).go())


class _Run:
    """One allocation's work."""

    def __init__(self, files: RunFiles, plan: Plan, allocation: Allocation, say: Say) -> None:
        self.files, self.allocation, self.say = files, allocation, say
        _clear(files)
        for point in set_aside_stale(files, plan):
            say(f"the earlier result of {point} does not count any more: it is measured again")
        self.plan = rebind(plan, allocation.binding(files.logs))

    async def go(self) -> int:
        write_atomically(self.files.allocation, self.allocation.model_dump_json(indent=1) + "\n")
        write_atomically(self.files.deployment, plan_text(self.plan))
        write_snapshot(self.files.logs / "resource_snapshot.json", self.plan, self.allocation.job_id)
        # The lockfile proper is a workflow output: while the run goes on, it lies beside the logs.
        write_lockfile(self.files.root, self.plan, self.files.logs / LOCKFILE)
        self.supervisor = Supervisor(launcher_of(self.allocation), self.files.logs, self.say)
        with self._scratch():
            async with self._signals():
                failure = await self._first_failure()
                if failure is not None:
                    _fail(self.files, self.plan, failure, self.say)
                await self.supervisor.stop()
        if failure is None:
            write_record(self.files, self.plan, json.loads(self.allocation.model_dump_json()))
            self.say("every point is valid")
        else:
            write_lockfile(self.files.root, self.plan)
        return 0 if failure is None else 1

    async def _first_failure(self) -> Failure | None:
        """Race the work against the first critical exit and the first signal."""
        work = asyncio.create_task(self._work())
        either: list[asyncio.Future[Any]] = [work, self.supervisor.failed]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self.supervisor.failed.done():
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError, StartError):
                await work
            return self.supervisor.failed.result()
        try:
            return work.result()
        except StartError as error:
            return Failure(
                stage=self.supervisor.stage, message=f"{error.step.name} could not be started: {error}"
            )

    async def _work(self) -> Failure | None:
        for stage, kind in (("services", "service"), ("workers", "worker"), ("frontend", "frontend")):
            self.supervisor.stage = stage
            for step in self.plan.steps:
                if step.kind == kind:
                    running = await self.supervisor.start(step)
                    if kind == "service":
                        await wait_for_service(running, self.plan)
        self.supervisor.stage = "health_gate"
        await self._nested_workflow()
        return self._verdict()

    async def _nested_workflow(self) -> None:
        """Gate and points, as a Snakemake run of its own in the configuration's directory."""
        words = [sys.executable, "-m", "snakemake", "--snakefile", str(ALLOCATION_WORKFLOW)]
        words += ["--directory", str(self.files.root), "--executor", "local", "--cores", "1"]
        words += ["--workflow-profile", "none", "--nolock", "--keep-going", "--rerun-incomplete"]
        words += ["--rerun-triggers", "mtime"]
        log = self.files.logs / "allocation.log"
        with log.open("ab") as output:
            nested = await asyncio.create_subprocess_exec(
                *words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=base_environment(),
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        progress = asyncio.create_task(self._tell_progress())
        try:
            await nested.wait()
        finally:
            progress.cancel()
            # The client of a point is a child of the nested workflow: the whole session goes.
            for number in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(nested.pid, number)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(nested.wait(), 5)

    async def _tell_progress(self) -> None:
        """Notice that the gate is open, and say every few seconds how far the running point is."""
        told: set[str] = set()
        while True:
            await asyncio.sleep(PROGRESS_SECONDS if "gate" in told else 0.5)
            if "gate" not in told and self.files.health.exists():
                told.add("gate")
                self.supervisor.stage = "benchmark"
                self.say("the health gate is open")
            for point in self.plan.points:
                if point.id not in told and is_complete(self.files, point):
                    told.add(point.id)
                    self.say(f"{point.id} is valid")
                now = read_json(self.files.point(point.id) / "progress.json")
                if now:
                    done, asked, rate = now.get("done"), now.get("asked"), now.get("output_tok_s") or 0
                    self.say(
                        f"{point.id} {now.get('phase')}: {done}/{asked} requests, {rate:.0f} output tok/s"
                    )

    def _verdict(self) -> Failure | None:
        missing = open_points(self.files, self.plan)
        if not missing and self.files.health.exists():
            return None
        if not self.files.health.exists():
            why = read_json(self.files.unhealthy).get("message", "the health gate ended without a verdict")
            return Failure(stage="health_gate", message=str(why), log="logs/health_gate.log")
        told = ", ".join(f"{point.id} ({why_open(self.files, point)})" for point in missing)
        return Failure(
            stage="benchmark", message=f"{len(missing)} of {len(self.plan.points)} points not valid: {told}"
        )

    @contextlib.contextmanager
    def _scratch(self) -> contextlib._GeneratorContextManager[None]:  # type: ignore[misc]
        scratch = Path(self.plan.deployment.binding.scratch)
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        try:
            yield
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    @contextlib.asynccontextmanager
    async def _signals(self) -> AsyncIterator[None]:
        """A signal is the first failure; a second one changes nothing."""
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

        def stop(number: signal.Signals) -> None:
            if not self.supervisor.failed.done():
                message = f"stopped by {number.name} (cancelled, or the time limit)"
                self.supervisor.failed.set_result(Failure(stage=self.supervisor.stage, message=message))

        for number in numbers:
            loop.add_signal_handler(number, stop, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


def _clear(files: RunFiles) -> None:
    """Set the logs of an earlier attempt aside and forget its verdicts."""
    for stale in (files.failure, files.health, files.unhealthy, files.run):
        stale.unlink(missing_ok=True)
    if files.logs.is_dir() and any(files.logs.iterdir()):
        number = 1 + sum(1 for _ in files.root.glob("logs.*"))
        files.logs.rename(files.root / f"logs.{number}")
    files.logs.mkdir(parents=True, exist_ok=True)


def _fail(files: RunFiles, plan: Plan, failure: Failure, say: Say) -> int:
    record = {"schema": 1, "configuration": plan.configuration, "digest": plan.digest, **failure.model_dump()}
    write_atomically(files.failure, json.dumps(record, indent=1) + "\n")
    say(f"FAILED in stage {failure.stage}: {failure.message}")
    if failure.log:
        say(f"log: {files.root / failure.log}")
    for line in failure.tail:
        say(f"  | {line}")
    return 1


def write_record(files: RunFiles, plan: Plan, allocation: dict[str, object]) -> None:
    """Write run.json: the configuration is complete."""
    record = {
        "schema": 1,
        "configuration": plan.configuration,
        "digest": plan.digest,
        "launcher": plan.launcher,
        "job_id": allocation.get("job_id"),
        "nodes": allocation.get("hosts", []),
        "started_at": allocation.get("started_at"),
        "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "points": [point.id for point in plan.points],
    }
    write_atomically(files.run, json.dumps(record, indent=1) + "\n")
