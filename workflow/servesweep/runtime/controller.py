"""The controlling Snakemake: its table, its record, and the lock that a killed one leaves behind."""

from __future__ import annotations

import atexit
import json
import os
import socket
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from servesweep.evidence.files import RunFiles, keep_plan, sentence, write_atomically
from servesweep.evidence.points import is_finished, read_json
from servesweep.plan.plan import Plan, plan_text
from servesweep.plan.plan_command import note_lines
from servesweep.plan.plan_page import summary_line
from servesweep.plan.preflight import preflight
from servesweep.plan.secrets import sources
from servesweep.plan.sweep_table import SweepTable, validate_recipe, write_sweep_list
from servesweep.plan.table import RESULTS
from servesweep.recipe.problems import Problem, RecipeError
from servesweep.runtime.processes import start_time

STATE = Path(".snakemake")
LOCKS = STATE / "locks"
# One record each: `snakemake report` may run beside a sweep, and must not be taken for the lock's owner.
RECORDS = STATE / "servesweep-controllers"


def open_table(config: Mapping[str, Any], dry_run: bool, gpu_quota: int | None = None) -> SweepTable:
    """The table of the sweep; on a user's mistake its sentences on stderr and exit code 1."""
    try:
        _refuse_repeated(sys.argv)
        table = SweepTable.from_config(config)
        table.limit_gpus(gpu_quota)
        if dry_run:
            refuse_what_cannot_run(table)
            # Behind Snakemake's own lines, of which there are several for each job.
            atexit.register(tell, table)
    except RecipeError as error:
        _exit(error)
    if not dry_run:
        release_stale_lock()
        set_aside_false_records(table)
    return table


def refuse_what_cannot_run(table: SweepTable) -> None:
    """Tell everything that validation would find, before anything is submitted.

    Raises:
        RecipeError: with every problem of the recipes whose configurations are not all finished.
    """
    refused = {table.source(p) for p in table.plans.values() if preflight(p) and not _finished(p)}
    problems: list[Problem] = []
    for path in sorted(refused):
        try:
            validate_recipe([path], table.cluster_file, table.settings)
        except RecipeError as error:
            problems += error.problems
    if problems:
        raise RecipeError(dict.fromkeys(problems))


def _refuse_repeated(words: Sequence[str]) -> None:
    """Refuse `--config set=… set=…`, of which Snakemake keeps the last one without a word.

    Raises:
        RecipeError: naming the key.
    """
    seen: set[str] = set()
    of_config = False
    for word in words:
        of_config = word in ("--config", "-C") or (of_config and not word.startswith("-"))
        key, equals, _ = word.removeprefix("--config=").partition("=")
        if not equals or not (of_config or word.startswith("--config=")):
            continue
        if key in seen:
            remedy = "set='a.b=1 c.d=2'" if key == "set" else f"{key}='A B'"
            message = f"--config gives {key} twice, and Snakemake keeps the last alone: write {remedy}"
            raise RecipeError([Problem("--config", None, key, message)])
        seen.add(key)


def tell(table: SweepTable) -> None:
    """Say on stderr what a reader should know of the sweep, and what it asks for, in few lines."""
    plans = list(table.plans.values())
    for line in [*note_lines(plans), summary_line(plans)]:
        print(line, file=sys.stderr)


def _exit(error: RecipeError) -> NoReturn:
    count = len(error.problems)
    print(f"{error}\n{count} problem{'s' if count > 1 else ''}; nothing was submitted.", file=sys.stderr)
    sys.exit(1)


def _finished(plan: Plan) -> bool:
    return is_finished(RunFiles(RESULTS / plan.configuration), plan)


def set_aside_false_records(table: SweepTable) -> None:
    """Rename records that are broken, or tell of points that are gone: Snakemake takes any file for one."""
    for configuration, plan in table.plans.items():
        record = RunFiles(RESULTS / configuration).run
        told = read_json(record).get("digest")
        if record.exists() and told in (None, plan.digest) and not _finished(plan):
            _set_aside(record)


def set_aside_old_records(table: SweepTable) -> None:
    """Rename records of what the configurations were before.

    A run replaces its own; of one that never began, as Slurm refused its job, Snakemake (9.27, with
    `keep-incomplete`) notes that it has made the record that it finds.
    """
    for configuration, plan in table.plans.items():
        record = RunFiles(RESULTS / configuration).run
        if read_json(record).get("digest") not in (None, plan.digest):
            _set_aside(record)


def _set_aside(record: Path) -> None:
    record.replace(record.with_name("run.stale.json"))


def begin(table: SweepTable, locks: Mapping[Path, str], targets: Collection[str] = ()) -> None:
    """Note which process controls this directory, and which configurations the sweep has.

    `locks` are those that stood here before Snakemake took its own. A report is written of what is there,
    also where the models of its recipes are no longer.
    """
    try:
        if set(targets) != {"report"}:
            refuse_what_cannot_run(table)
        _begin(table, locks)
        # Those run nothing, and print the plans themselves, or what came of them.
        if not set(targets) & {"plan", "report"}:
            set_aside_old_records(table)
            tell(table)
    except RecipeError as error:
        _exit(error)
    except OSError as error:
        print(sentence(error), file=sys.stderr)
        sys.exit(1)


def _begin(table: SweepTable, locks: Mapping[Path, str]) -> None:
    note_controller()
    atexit.register(restore_locks, Path.cwd(), locks)
    for configuration, plan in table.plans.items():
        # Validation runs once a recipe: whoever removes results/<configuration> still has a valid record.
        path = RunFiles(RESULTS / configuration).plan
        if read_json(path).get("digest") != plan.digest:
            source = table.source(plan)
            found = sources(plan, source, table.cluster_file)
            keep_plan(RunFiles(RESULTS / configuration), plan_text(plan), source, found)
    write_atomically(RESULTS / "sweep.json", write_sweep_list(table))


def note_controller() -> None:
    """Write this process down as one that may hold the lock of the current directory."""
    pid = os.getpid()
    record = {"host": socket.gethostname(), "pid": pid, "started": start_time(pid)}
    write_atomically(_own_record(), json.dumps(record) + "\n")


def locks_beside() -> dict[Path, str]:
    """Text of each lock file, where another controller of this directory may be alive."""
    others = [record for record in RECORDS.glob("*.json") if record.name != _own_record().name]
    if all(_is_dead(read_json(record)) for record in others):
        return {}
    return {lock: lock.read_text() for lock in LOCKS.glob("*.lock")}


def restore_locks(root: Path, locks: Mapping[Path, str]) -> None:
    """Put back the locks of controllers that are still alive, at the end of this one.

    A Snakemake that ends removes the whole directory of locks, others' too (9.27, persistence/file.py): a
    `snakemake report` beside a sweep would open the way to a second sweep.
    """
    os.chdir(root)
    _own_record().unlink(missing_ok=True)
    records = [read_json(record) for record in RECORDS.glob("*.json")]
    if all(_is_dead(record) for record in records):
        return
    for path, text in locks.items():
        if not path.exists():
            write_atomically(path, text)


def release_stale_lock() -> bool:
    """Remove Snakemake's lock where every process that may have taken it is certainly dead; returns whether.

    Snakemake's lock does not tell its owner, so a controller ended by `kill -9` would block this directory
    until somebody types --unlock. Only owners recorded on this host, and gone, are taken for dead.
    """
    locks = list(LOCKS.glob("*.lock"))
    records = list(RECORDS.glob("*.json"))
    stale = bool(locks and records) and all(_is_dead(read_json(record)) for record in records)
    if locks and not stale:
        return False
    # Without a lock the records of earlier controllers tell nothing more.
    for path in (*locks, *records):
        path.unlink(missing_ok=True)
    if stale:
        print(
            "An earlier controller was killed: its lock is removed, and its unfinished runs are run again.",
            file=sys.stderr,
        )
    return stale


def _own_record() -> Path:
    return RECORDS / f"{socket.gethostname()}-{os.getpid()}.json"


def _is_dead(record: Mapping[str, Any]) -> bool:
    pid = record.get("pid")
    if record.get("host") != socket.gethostname() or not isinstance(pid, int):
        return False
    return start_time(pid) != record.get("started")
