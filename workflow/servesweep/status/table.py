"""The sweep as a table for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.console import Group
from rich.table import Table
from rich.text import Text

from servesweep.status.view import OVER, ConfigurationView, SweepView, Workers

NOTHING = "-"
STYLES = {
    "finished": "green",
    "failed": "red",
    "lost": "red",
    "benchmark": "cyan",
    "planned": "dim",
    "unknown": "dim",
    "queued": "yellow",
}
# What a reader looks for first, where not everything fits.
FIRST = ("benchmark", "health_gate", "frontend", "workers", "services", "hosts", "allocation", "teardown")
THEN = ("failed", "lost", "queued", "planned", "unknown", "finished")
LETTERS = {"prefill": "P", "decode": "D", "agg": "A"}


def status_table(views: Sequence[ConfigurationView], sweep: SweepView, rows: int | None = None) -> Group:
    """Everything, or at most `rows` configurations, those that run first; one line about the whole below."""
    shown = list(views)
    if rows is not None and len(shown) > rows:
        order = {stage: number for number, stage in enumerate((*FIRST, *THEN))}
        kept = {id(view) for view in sorted(shown, key=lambda view: order.get(view.stage, 0))[:rows]}
        shown = [view for view in shown if id(view) in kept]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("configuration", overflow="fold", ratio=1)
    for name in ("Slurm", "job", "stage", "workers"):
        table.add_column(name, no_wrap=True)
    for name in ("restarts", "points", "tok/s", "GPUs", "CPU", "time"):
        table.add_column(name, no_wrap=True, justify="right")
    for view in shown:
        table.add_row(*cells(view, sweep.at))
    lines: list[Table | Text] = [table]
    if len(shown) < len(views):
        lines.append(Text(f"… and {len(views) - len(shown)} more", style="dim"))
    lines += [Text(f"{view.configuration}: {view.failure}", style="red") for view in shown if view.failure]
    lines += [
        Text(f"{view.configuration}: CPU ALLOCATION WARNING: {view.cpus.message}", style="yellow")
        for view in shown
        if view.cpus and view.cpus.status == "warning" and view.stage not in OVER
    ]
    return Group(*lines, Text(summary(views, sweep)))


def cells(view: ConfigurationView, now: str) -> list[Text | str]:
    """One row."""
    invalid = f" ({view.points.invalid} invalid)" if view.points.invalid else ""
    time = NOTHING if view.stage in ("failed", "lost") else elapsed(view.started_at, view.finished_at or now)
    return [
        view.configuration,
        view.slurm_state or NOTHING,
        view.job_id or NOTHING,
        Text(view.stage, style=STYLES.get(view.stage, "")),
        NOTHING if view.stage in OVER else workers(view.workers),
        str(view.restarts),
        f"{view.points.valid}/{view.points.total}{invalid}",
        NOTHING if view.output_tok_s is None else f"{view.output_tok_s:.0f}",
        Text(str(view.gpus), style="" if view.holds_gpus else "dim"),
        cpu(view),
        time,
    ]


def workers(roles: dict[str, Workers]) -> str:
    """`2/4P 4/4D`: up and planned, prefill and decode; `A` for aggregated workers."""
    told = [f"{count.up}/{count.total}{LETTERS.get(mode, mode)}" for mode, count in roles.items()]
    return " ".join(told) or NOTHING


def cpu(view: ConfigurationView) -> Text | str:
    """`ok`, or what is there of what is wanted."""
    if view.cpus is None or view.cpus.status == "unknown":
        return NOTHING
    if view.cpus.status == "ok":
        return "ok"
    return Text(f"{view.cpus.available}/{view.cpus.minimum}!", style="bold red")


def elapsed(start: str | None, end: str) -> str:
    """`1:02:03` between two ISO times."""
    try:
        seconds = int((datetime.fromisoformat(end) - datetime.fromisoformat(start or "")).total_seconds())
    except (ValueError, TypeError):
        return NOTHING
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}" if seconds >= 0 else NOTHING


def summary(views: Sequence[ConfigurationView], sweep: SweepView) -> str:
    """One line about the whole sweep."""
    order = (*FIRST, *THEN)
    stages = [f"{sweep.stages[stage]} {stage}" for stage in order if sweep.stages.get(stage)]
    quota = f" of a quota of {sweep.gpu_quota}" if sweep.gpu_quota is not None else " (no quota)"
    parts = [
        f"{len(views)} configuration{'s' * (len(views) != 1)}" + (f": {', '.join(stages)}" if stages else ""),
        f"points {sweep.points_valid}/{sweep.points_total}",
        f"{sweep.output_tok_s:.0f} tok/s",
        f"GPUs held {sweep.gpus_held}{quota}",
    ]
    if sweep.cpu_warnings:
        parts.append(f"{sweep.cpu_warnings} CPU warning{'s' * (sweep.cpu_warnings != 1)}")
    return " · ".join(parts)
