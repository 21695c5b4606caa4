"""Write the report of a results directory: CSV, pictures, page."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from servesweep.report.charts import Charts
from servesweep.report.page import render_page
from servesweep.report.picture import pareto_picture
from servesweep.report.records import frontier_records, load_axis, valid_records
from servesweep.report.summary_csv import summary_csv
from servesweep.report.sweep import load_sweep


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
    svg: Path
    png: Path
    page: Path

    @property
    def sentence(self) -> str:
        """The counts in one line."""
        return (
            f"{self.configurations} configurations, {self.points} points: {self.valid} valid, "
            f"{self.invalid} invalid, {self.failed} failed, {self.not_run} not run; see {self.page}"
        )


def write_report(results: Path, only: Sequence[str] | None = None, out: Path | None = None) -> ReportSummary:
    """Write `summary.csv`, `pareto.svg`, `pareto.png` and `report.html`, and say what they hold.

    `only` names the configurations of the sweep in order: one without any file counts as not run. Without it,
    every directory that has a `plan.json` is taken. The files go to `out`, or else into `results`; all four
    are written even when no point is valid. Raises OSError when `out` cannot be written.
    """
    target = results if out is None else out
    target.mkdir(parents=True, exist_ok=True)
    sweep = load_sweep(results, only)
    records = valid_records(sweep)
    edge = frontier_records(records)
    charts = Charts(records, [c.id for c in sweep.configurations], load_axis(sweep.points))
    svg, png = pareto_picture(charts, edge)
    files = {
        "summary.csv": summary_csv(sweep).encode(),
        "pareto.svg": svg.encode(),
        "pareto.png": png,
        "report.html": render_page(sweep, charts, edge, target).encode(),
    }
    for name, content in files.items():
        _replace(target / name, content)
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
        svg=target / "pareto.svg",
        png=target / "pareto.png",
        page=target / "report.html",
    )


def _replace(path: Path, content: bytes) -> None:
    """Write beside the file and rename, so that nobody ever sees half of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        temporary.chmod(0o644)  # mkstemp gives 0600, and a report is for the whole group
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
