"""`slurm`: one srun step a process, inside the allocation around us."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from servesweep.runtime.launchers.launcher import Launcher


class SlurmLauncher(Launcher):
    """Runs `srun --overlap` on the node."""

    def words(
        self,
        name: str,
        node: str,
        argv: tuple[str, ...],
        env: Mapping[str, str],
        options: Mapping[str, str],
        log: Path | None,
    ) -> list[str]:
        """Compose the srun; variables are set inside the step, where Slurm's GPU binding cannot undo them."""
        words = ["srun", f"--jobid={self.allocation.job_id}", "--overlap", "--nodes=1", "--ntasks=1"]
        words += [f"--nodelist={self.allocation.host(node).host}", f"--job-name={name}", "--export=ALL"]
        if log is not None:
            words += [f"--output={log}", "--open-mode=append"]
        words += [f"--{key}={value}" if value else f"--{key}" for key, value in options.items()]
        return [*words, "env", *(f"{key}={value}" for key, value in env.items()), *argv]

    async def terminate(self, name: str, pid: int) -> None:
        """Signal the step: a SIGTERM to srun itself would kill its task at once, without a good end."""
        for step, step_name in await self._steps():
            if step_name == name:
                await _output("scancel", "--signal=TERM", step)

    async def sweep_up(self) -> None:
        """Cancel steps that are still there; the batch step is not one of them."""
        for step, _ in await self._steps():
            await _output("scancel", step)

    async def _steps(self) -> list[tuple[str, str]]:
        """(step, name) of this job's own steps."""
        job = str(self.allocation.job_id)
        listed = await _output("squeue", "--steps", "--noheader", f"--jobs={job}", "--format=%i %j")
        pairs = [
            (step, name) for step, _, name in (line.strip().partition(" ") for line in listed.splitlines())
        ]
        return [(step, name) for step, name in pairs if step.removeprefix(f"{job}.").isdigit()]


async def _output(*words: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    text, _ = await process.communicate()
    return text.decode(errors="replace")
