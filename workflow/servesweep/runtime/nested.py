"""Gate and points, as a Snakemake run of its own in the configuration's directory."""

from __future__ import annotations

import asyncio
from pathlib import Path

from servesweep.evidence.files import RunFiles
from servesweep.runtime.preloading import Preloaded

ALLOCATION_WORKFLOW = Path(__file__).parents[2] / "allocation" / "Snakefile"
LATENCY_SECONDS = "30"


def nested_words(files: RunFiles, points: list[str]) -> list[str]:
    """The words for Snakemake that measure the points, and nothing else.

    Points are named one by one: a finished one that a killed Snakemake had marked as incomplete is not
    Snakemake's to delete.
    """
    words = ["--snakefile", str(ALLOCATION_WORKFLOW), "--directory", str(files.root)]
    words += ["--executor", "local", "--cores", "1"]
    words += ["--workflow-profile", "none", "--nolock", "--keep-going", "--rerun-incomplete"]
    # One point at a time: there is nothing to solve.
    words += ["--scheduler", "greedy"]
    # A result appears whole or not at all, and a point that fails here may have one from a later run.
    words += ["--keep-incomplete"]
    # The client may work on another node, whose files are seen late.
    words += ["--rerun-triggers", "mtime", "--latency-wait", LATENCY_SECONDS, "--"]
    return [*words, "health.json", *(f"points/{point}/result.json" for point in points)]


async def run_nested_workflow(snakemake: Preloaded, files: RunFiles, points: list[str], log: Path) -> None:
    """Run to the end; when cancelled, end the client that is running too.

    Raises:
        OSError: where the log cannot be written.
    """
    try:
        snakemake.begin(nested_words(files, points), log)
        await asyncio.to_thread(snakemake.wait)
    finally:
        await asyncio.to_thread(snakemake.end)
