"""What is done on the bare nodes before the deployment starts and after it has ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from servesweep.evidence.files import RunFiles
from servesweep.plan.plan import Plan
from servesweep.runtime.failure import Failure, tail
from servesweep.runtime.launchers import Launch, Launcher
from servesweep.runtime.services import NotReadyError
from servesweep.runtime.spawning import spawn


class Hosts:
    """The nodes of an allocation, outside of any container; on one machine there is one."""

    def __init__(self, plan: Plan, files: RunFiles, launcher: Launcher, say: Callable[[str], None]) -> None:
        self.plan, self.files, self.launcher, self.say = plan, files, launcher, say
        self._touched = False

    async def prepare(self) -> None:
        """Run the recipe's `host_setup`, then copy the model where the recipe wants it.

        Raises:
            NotReadyError: where a node cannot be made ready.
        """
        self._touched = True
        setup = self.plan.resolved.host_setup
        if setup is not None and setup.commands:
            # In one shell, so that a later command stands where an earlier one has led.
            script = "\n".join([*([] if setup.ignore_failure else ["set -e"]), *setup.commands])
            nodes = self._nodes(setup.nodes)
            failed = await self._on_each(nodes, "host_setup", ("bash", "-c", script), setup.timeout_seconds)
            for failure in failed:
                if not setup.ignore_failure:
                    raise NotReadyError(failure)
                self.say(f"{failure.message}: ignored")
        deployment = self.plan.deployment
        if deployment.model_source is not None:
            source = str((Path(self.launcher.allocation.project) / deployment.model_source).resolve())
            words = (sys.executable, "-m", "servesweep.runtime.staging", source, deployment.model_path)
            for failure in await self._on_each(self._nodes("workers"), "stage_model", words, None):
                said = [line for line in failure.tail if not line.startswith("srun: ")]
                message = f"{failure.message}: {said[-1]}" if said else failure.message
                raise NotReadyError(failure.model_copy(update={"message": message}))

    async def leave(self) -> None:
        """Run the recipe's teardown, and remove what the run kept on the nodes' own disks."""
        setup = self.plan.resolved.host_setup
        if not self._touched:
            return
        if setup is not None and setup.teardown:
            script, nodes = "\n".join(setup.teardown), self._nodes(setup.nodes)
            words = ("bash", "-c", script)
            for failure in await self._on_each(nodes, "host_teardown", words, setup.timeout_seconds):
                self.say(failure.message)
        if nodes := self._nodes_with_scratch():
            await self._on_each(nodes, "clean_up", ("rm", "-rf", self.plan.deployment.binding.scratch), 30)

    def _nodes(self, which: str) -> list[str]:
        named = [node.name for node in self.plan.nodes]
        if which == "workers":
            working = [s for s in self.plan.steps if s.kind == "worker"]
            carrying = {node for step in working for node in step.nodes or (step.node,)}
            named = [node for node in named if node in carrying]
        return named[:1] if self.launcher.allocation.launcher == "local" else named

    def _nodes_with_scratch(self) -> list[str]:
        """The nodes, but for this one, whose steps name the run's own directory on their disk."""
        scratch, first = self.plan.deployment.binding.scratch, self.plan.nodes[0].name
        found = set()
        for step in self.plan.steps:
            words = (*step.command.argv, *step.command.env.values(), step.preamble or "")
            if any(scratch in word for word in words):
                found |= set(step.nodes or (step.node,))
        return [node for node in self._nodes("all") if node in found - {first}]

    async def _on_each(
        self, nodes: Sequence[str], what: str, words: tuple[str, ...], timeout: float | None
    ) -> list[Failure]:
        """Run the words once on each node, all at a time; what failed, in the order of nodes."""
        found = await asyncio.gather(*(self._on(node, what, words, timeout) for node in nodes))
        return [failure for failure in found if failure is not None]

    async def _on(
        self, node: str, what: str, words: tuple[str, ...], timeout: float | None
    ) -> Failure | None:
        host = self.launcher.allocation.host(node).host
        log = self.files.logs / f"{what}_{host}.out"
        recipe, cluster = self.plan.resolved, self.plan.cluster
        launch = Launch(
            name=f"{what}_{host}",
            nodes=(node,),
            argv=words,
            env={**cluster.environment, **recipe.environment},
            options={**cluster.srun_options, **recipe.srun_options},
            log=log,
        )
        code = await _run(self.launcher.words(launch), log, timeout)
        if code == 0:
            return None
        how = f"exited with code {code}" if code is not None else f"took longer than {timeout:g} s"
        return Failure(
            stage="hosts",
            message=f"{what} on {host} {how}",
            step=what,
            node=host,
            exit_code=code,
            log=f"{self.files.logs.name}/{log.name}",
            tail=tail(log),
        )


async def _run(words: list[str], log: Path, timeout: float | None) -> int | None:
    """Exit code of a command whose output is appended to a log; None where it was out of time."""
    process = await spawn(words, log)
    try:
        # `wait_for` (Python 3.11) loses a cancellation that comes together with the end.
        async with asyncio.timeout(timeout):
            return await process.wait()
    except TimeoutError:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
