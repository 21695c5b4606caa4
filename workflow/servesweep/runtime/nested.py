"""Gate and points, as a Snakemake run of its own in the configuration's directory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

from servesweep.evidence.files import RunFiles
from servesweep.runtime.spawning import spawn

ALLOCATION_WORKFLOW = Path(__file__).parents[2] / "allocation" / "Snakefile"
TERM_GRACE_SECONDS = 5.0
LATENCY_SECONDS = "30"


def nested_words(files: RunFiles, points: list[str]) -> list[str]:
    """The words that measure the points, and nothing else.

    Points are named one by one: a finished one that a killed Snakemake had marked as incomplete is not
    Snakemake's to delete.
    """
    words = [sys.executable, "-m", "snakemake", "--snakefile", str(ALLOCATION_WORKFLOW)]
    words += ["--directory", str(files.root), "--executor", "local", "--cores", "1"]
    words += ["--workflow-profile", "none", "--nolock", "--keep-going", "--rerun-incomplete"]
    # One point at a time: there is nothing to solve.
    words += ["--scheduler", "greedy"]
    # A result appears whole or not at all, and a point that fails here may have one from a later run.
    words += ["--keep-incomplete"]
    # The client may work on another node, whose files are seen late.
    words += ["--rerun-triggers", "mtime", "--latency-wait", LATENCY_SECONDS, "--"]
    return [*words, "health.json", *(f"points/{point}/result.json" for point in points)]


async def run_nested_workflow(files: RunFiles, points: list[str], log: Path) -> None:
    """Run to the end; when cancelled, end the client that is running too."""
    nested = await spawn(nested_words(files, points), log)
    try:
        await nested.wait()
    finally:
        # The client of a point is a child of the nested workflow: the whole session goes.
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(nested.pid, number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(nested.wait(), TERM_GRACE_SECONDS)
