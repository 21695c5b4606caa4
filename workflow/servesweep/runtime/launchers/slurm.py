"""`slurm`: one srun step a process, inside the allocation around us."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from servesweep.runtime.allocation import Host
from servesweep.runtime.launchers.launch import Launch
from servesweep.runtime.launchers.launcher import Launcher, LaunchError
from servesweep.runtime.launchers.pyxis import container_words
from servesweep.runtime.launchers.whole import taking_all_along
from servesweep.runtime.shield import shielded

RANKS_GRACE_SECONDS = 10


class SlurmLauncher(Launcher):
    """Runs `srun --overlap` on the node."""

    def words(self, launch: Launch) -> list[str]:
        """Compose the srun; variables are set inside the step, where Slurm's GPU binding cannot undo them."""
        hosts = [self.allocation.host(node) for node in launch.nodes]
        words = ["srun", f"--jobid={self.allocation.job_id}", "--overlap", *het_group(hosts)]
        words += [
            *step_shape([host.host for host in hosts], launch),
            f"--job-name={launch.name}",
            "--export=ALL",
        ]
        if launch.log is not None:
            words += [f"--output={launch.log}", "--open-mode=append"]
        if launch.image is not None:
            words += container_words(launch.image, launch.mounts, Path(self.allocation.project))
        words += [f"--{key}={value}" if value else f"--{key}" for key, value in launch.options.items()]
        command = shielded(launch.words, os.environ)
        return [*words, *(taking_all_along(command, launch.name) if launch.whole else command)]

    async def terminate(self, name: str, pid: int) -> None:
        """Signal the step: a SIGTERM to srun itself would kill its task at once, without a good end."""
        for step, step_name in await self._steps():
            if step_name == name:
                await _output("scancel", "--signal=TERM", step)

    async def kill(self, name: str, pid: int) -> None:
        """Cancel the step: Slurm sends SIGKILL to every process of it."""
        for step, step_name in await self._steps():
            if step_name == name:
                await _output("scancel", step)

    async def sweep_up(self) -> None:
        """Cancel steps that are still there; the batch step is not one of them."""
        for step, _ in await self._steps():
            await _output("scancel", step)

    async def _steps(self) -> list[tuple[str, str]]:
        """(step, name) of this job's own steps."""
        jobs = self.allocation.job_ids
        listed = await _output(
            "squeue", "--steps", "--noheader", f"--jobs={','.join(jobs)}", "--format=%i %j"
        )
        pairs = [
            (step, name) for step, _, name in (line.strip().partition(" ") for line in listed.splitlines())
        ]
        own = re.compile(rf"(?:{'|'.join(jobs)})\.\d+")
        return [(step, name) for step, name in pairs if own.fullmatch(step)]


def het_group(hosts: list[Host]) -> list[str]:
    """The component of a heterogeneous job that a step belongs to: there each one has to say so.

    Raises:
        LaunchError: for a step over two components, which Slurm starts as two.
    """
    groups = {host.het_group for host in hosts}
    if len(groups) > 1:
        raise LaunchError("its nodes belong to two components of the heterogeneous job")
    (group,) = groups
    return [] if group is None else [f"--het-group={group}"]


def step_shape(hosts: list[str], launch: Launch) -> list[str]:
    """Nodes and tasks of a step; of several tasks the first one that ends takes the others with it.

    Left alone, Slurm puts most tasks on the first node, and the nodes in its own order; in the arbitrary
    distribution (srun(1)) the list of nodes has a place for each task, so rank 0 stands where the plan says.
    """
    words = [f"--nodes={len(hosts)}", f"--ntasks={launch.tasks}"]
    if launch.tasks > 1:
        # A rank that is gone leaves the others waiting for it, and srun waiting for them.
        words += ["--kill-on-bad-exit=1", f"--wait={RANKS_GRACE_SECONDS}"]
    if launch.shares and launch.options.get("distribution", "arbitrary") == "arbitrary":
        words.append("--distribution=arbitrary")
        hosts = [host for host, share in zip(hosts, launch.shares, strict=True) for _ in range(share)]
    return [*words, f"--nodelist={','.join(hosts)}"]


async def _output(*words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    text, _ = await process.communicate()
    return text.decode(errors="replace")
