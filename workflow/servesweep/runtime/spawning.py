"""Starting a process that ends with this one, and whose output goes to a log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from servesweep.runtime.death_signal import die_with_parent
from servesweep.runtime.environment import base_environment


async def spawn(words: Sequence[str], log: Path) -> asyncio.subprocess.Process:
    """Start a command in a session of its own; what it prints is appended to the log.

    Raises:
        OSError: where there is no such program, or the log cannot be written.
    """
    with log.open("ab") as output:
        return await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=base_environment(),
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
