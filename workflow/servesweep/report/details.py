"""What the page tells of single configurations: failures, invalid points, node map, provenance, links."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from servesweep.report.node_map import node_map
from servesweep.report.records import deployment
from servesweep.report.sweep import Configuration, Sweep, one_line

EVIDENCE = (
    ("plan", "plan.json"),
    ("run record", "run.json"),
    ("failure", "failure.json"),
    ("lockfile", "recipe.lock.yaml"),
    ("roll-up", "benchmark-rollup.csv"),
    ("repeats", "repeats.json"),
    ("story", "run.log"),
    ("logs", "logs"),
)
TERMINAL_CODES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class Link:
    """A relative address inside the results, already quoted; empty when the file is not there."""

    text: str
    href: str


def failure_rows(sweep: Sweep, out: Path) -> list[dict[str, Any]]:
    """One row a failed configuration: first cause, where it happened, its log and the log's last lines."""
    rows = []
    for configuration in sweep.configurations:
        failure = configuration.failure
        if failure is None:
            continue
        ended = "" if failure.exit_code is None else str(failure.exit_code)
        rows.append(
            {
                "configuration": configuration.id,
                "stage": failure.stage,
                "step": failure.step or "",
                "message": one_line(failure.message),
                "node": failure.node or "",
                "exit": " ".join(part for part in (ended, failure.signal or "") if part),
                "log": _link(configuration, failure.log, failure.log, out) if failure.log else None,
                "tail": "\n".join(TERMINAL_CODES.sub("", line) for line in failure.tail),
                "at": failure.at or "",
            }
        )
    return rows


def invalid_rows(sweep: Sweep, out: Path) -> list[dict[str, Any]]:
    """One row a point that did not pass the validity gate: its reason and its file."""
    return [
        {
            "configuration": configuration.id,
            "point": point.id,
            "reason": point.reason,
            "file": _link(configuration, "invalid.json", f"points/{point.id}/invalid.json", out),
        }
        for configuration in sweep.configurations
        for point in configuration.points
        if point.status == "invalid"
    ]


def configuration_detail(configuration: Configuration, out: Path) -> dict[str, Any]:
    """Node map, points and provenance of one configuration."""
    plan, run = configuration.plan, configuration.run
    origin = [
        ("name", plan.name if plan else ""),
        ("recipe", plan.recipe if plan else ""),
        ("variant", (plan.variant or "") if plan else ""),
        ("engine", plan.engine if plan else ""),
        ("frontend", plan.frontend if plan else ""),
        ("deployment", deployment(plan.topology) if plan else ""),
        ("precision", (plan.precision or "") if plan else ""),
        ("image", (plan.image or "") if plan else ""),
        ("cluster", plan.cluster.cluster if plan else ""),
        ("launcher", plan.launcher if plan else ""),
        ("job", configuration.job_id),
        ("digest", plan.digest if plan else ""),
        ("started", (run.started_at or "") if run else ""),
        ("finished", (run.finished_at or "") if run else ""),
    ]
    links = [_link(configuration, text, name, out) for text, name in EVIDENCE]
    return {
        "id": configuration.id,
        "nodes": node_map(configuration),
        "points": configuration.points,
        "valid": sum(point.status == "valid" for point in configuration.points),
        "failed": configuration.failure is not None,
        "origin": [(label, value) for label, value in origin if value],
        "notes": [one_line(note) for note in (plan.notes if plan else [])],
        "links": [link for link in links if link.href],
    }


def _link(configuration: Configuration, text: str | None, name: str | None, out: Path) -> Link:
    """Link to a file of a configuration; what is not there, or lies outside of it, gets no address."""
    target = configuration.directory / (name or "")
    inside = target.resolve().is_relative_to(configuration.directory.resolve())
    if not name or not inside or not target.exists():
        return Link(text or "", "")
    return Link(text or "", quote(os.path.relpath(target, out)))
