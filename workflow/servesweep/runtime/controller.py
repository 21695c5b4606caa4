"""The controlling Snakemake: its table, its record, and the lock that a killed one leaves behind."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from servesweep.evidence.files import write_atomically
from servesweep.evidence.points import read_json
from servesweep.plan.table import RESULTS, SweepTable, write_sweep_list
from servesweep.recipe.problems import RecipeError

STATE = Path(".snakemake")
RECORD = STATE / "servesweep-controller.json"


def open_table(config: Mapping[str, Any], inside_job: bool, dry_run: bool) -> SweepTable:
    """The table of the sweep; on a user's mistake its sentences on stderr and exit code 1."""
    try:
        table = SweepTable.from_config(config, inside_job)
    except RecipeError as error:
        count = len(error.problems)
        print(f"{error}\n{count} problem{'s' if count > 1 else ''}; nothing was submitted.", file=sys.stderr)
        sys.exit(1)
    if not inside_job and not dry_run:
        release_stale_lock()
    return table


def begin(table: SweepTable) -> None:
    """Note which process controls this directory, and which configurations the sweep has."""
    pid = os.getpid()
    record = {"host": socket.gethostname(), "pid": pid, "started": _start_time(pid)}
    write_atomically(RECORD, json.dumps(record) + "\n")
    write_atomically(RESULTS / "sweep.json", write_sweep_list(table))


def release_stale_lock() -> bool:
    """Remove Snakemake's lock where the process that took it is certainly dead; returns whether it did.

    Snakemake's lock does not tell its owner, so a controller ended by `kill -9` would block this directory
    until somebody types --unlock. Only an owner recorded on this host, and gone, is taken for dead.
    """
    locks = list((STATE / "locks").glob("*.lock"))
    record = read_json(RECORD)
    if not locks or record.get("host") != socket.gethostname() or not isinstance(record.get("pid"), int):
        return False
    if _start_time(record["pid"]) == record.get("started"):
        return False
    for lock in locks:
        lock.unlink(missing_ok=True)
    print(
        "An earlier controller was killed: its lock is removed, and its unfinished runs are run again.",
        file=sys.stderr,
    )
    return True


def _start_time(pid: int) -> str | None:
    """Start of a process in clock ticks since boot (proc(5), field 22); None where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
