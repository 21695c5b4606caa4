"""Write the report of a results directory: tables, roll-ups, pictures, page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from altair.utils.schemapi import debug_mode

from servesweep.report.atomic import replace_file
from servesweep.report.charts import Charts
from servesweep.report.page import render_page
from servesweep.report.picture import pictures
from servesweep.report.prices import Prices
from servesweep.report.records import load_axis, point_records
from servesweep.report.repeats import REPEATS_NAME, repeats_json, repeats_of
from servesweep.report.rollup import CSV_NAME, JSON_NAME, p90_running_requests, rollup_csv, rollup_json
from servesweep.report.rows import point_row, sweep_rows
from servesweep.report.sweep import Configuration, Sweep, load_sweep
from servesweep.report.table_files import csv_text, parquet_bytes


@dataclass(frozen=True)
class ReportSummary:
    """What was found and which files were written."""

    configurations: int
    points: int
    valid: int
    invalid: int
    failed: int
    not_run: int
    gpu_hours: float | None
    csv: Path
    parquet: Path
    page: Path
    # One sentence each: roll-ups of configurations that could not be written.
    unwritten: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The counts in one line."""
        return (
            f"{self.configurations} configurations, {self.points} points: {self.valid} valid, "
            f"{self.invalid} invalid, {self.failed} failed, {self.not_run} not run; see {self.page}"
        )


def write_report(
    results: Path,
    only: Sequence[str] | None = None,
    out: Path | None = None,
    prices: Prices | None = None,
) -> ReportSummary:
    """Write the tables, the pictures and the page of a sweep, and say what they hold.

    `only` names the configurations of the sweep in order: one without any file counts as not run. Without it,
    every directory that has a `plan.json` is taken. The files go to `out`, or else into `results`; all are
    written even when no point is valid, but for the roll-up of a configuration without a valid point, and of
    one whose directory cannot be written: that is told.
    `prices` None takes those that were planned with.

    Raises:
        OSError: when `out` cannot be written.
    """
    target = results if out is None else out
    target.mkdir(parents=True, exist_ok=True)
    sweep = load_sweep(results, only)
    unwritten = tuple(filter(None, (_refused_rollup(one, target / one.id) for one in sweep.configurations)))
    # Altair checks every part of every chart against its schema, which takes longer than all else.
    with debug_mode(False):
        files = _files(sweep, target, prices)
    for name, content in files.items():
        replace_file(target / name, content)
    count = sweep.count()
    return ReportSummary(
        configurations=len(sweep.configurations),
        points=len(sweep.points),
        valid=count["valid"],
        invalid=count["invalid"],
        failed=count["failed"],
        not_run=count["not run"],
        gpu_hours=sweep.gpu_hours,
        csv=target / "summary.csv",
        parquet=target / "summary.parquet",
        page=target / "report.html",
        unwritten=unwritten,
    )


def _files(sweep: Sweep, target: Path, prices: Prices | None) -> dict[str, bytes]:
    """Content of each file of the report; the links of the page are relative to `target`."""
    rows, records = sweep_rows(sweep, prices), point_records(sweep, prices)
    drawn = [record for record in records if record["status"] == "valid"]
    charts = Charts(drawn, [c.id for c in sweep.configurations], load_axis(sweep.points))
    return {
        "summary.csv": csv_text(rows).encode(),
        "summary.parquet": parquet_bytes(rows),
        **pictures(charts),
        "report.html": render_page(sweep, records, charts, target, prices).encode(),
    }


def _refused_rollup(configuration: Configuration, directory: Path) -> str | None:
    """Write a roll-up, or say why not: one full disk is no reason to write no table."""
    try:
        _write_rollup(configuration, directory)
    except OSError as error:
        return f"{error.filename} is not written: {error.strerror}"
    return None


def _write_rollup(configuration: Configuration, directory: Path) -> None:
    """Write the roll-up of one configuration and the intervals of its repeats, or remove old ones."""
    rows = [point_row(configuration, point) for point in configuration.points if point.status == "valid"]
    if configuration.plan is None or not rows:
        for name in (JSON_NAME, CSV_NAME, REPEATS_NAME):
            (directory / name).unlink(missing_ok=True)
        return
    directory.mkdir(exist_ok=True)
    running = p90_running_requests(configuration.directory / "logs")
    replace_file(directory / JSON_NAME, rollup_json(rows, configuration.plan.benchmark_type).encode())
    replace_file(directory / CSV_NAME, rollup_csv(rows, running).encode())
    if levels := repeats_of(configuration):
        replace_file(directory / REPEATS_NAME, repeats_json(levels).encode())
    else:
        (directory / REPEATS_NAME).unlink(missing_ok=True)
