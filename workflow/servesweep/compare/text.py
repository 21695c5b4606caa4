"""A comparison as lines for a terminal, as Markdown for a CI's summary, as an object for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from servesweep.compare.judge import Change, Comparison, Unmatched, Verdict
from servesweep.compare.noise import Mean

HEADINGS = ("configuration", "point", "metric", "baseline", "new", "change", "noise", "limit", "verdict")
MOVED: tuple[Verdict, ...] = ("regression", "improvement", "within noise")
VERDICTS: tuple[Verdict, ...] = (*MOVED, "within tolerance")


def shown(comparison: Comparison, everything: bool = False) -> list[Change]:
    """What moved beyond its tolerance, regressions first; or every change."""
    return [change for verdict in (VERDICTS if everything else MOVED) for change in comparison.of(verdict)]


def told(comparison: Comparison, everything: bool = False) -> str:
    """Aligned columns, then the points that could not be compared, notes, and the counts."""
    rows = [cells(change) for change in shown(comparison, everything)]
    lines = list(_aligned([HEADINGS, *rows])) if rows else []
    lines += [f"{_where(one)}: {one.fate}: {one.reason}" for one in comparison.unmatched]
    return "\n".join([*lines, *comparison.notes, counts(comparison)])


def markdown(comparison: Comparison, everything: bool = False) -> str:
    """The same for `$GITHUB_STEP_SUMMARY` and its like."""
    rows = [cells(change) for change in shown(comparison, everything)]
    lines = [f"**{counts(comparison)}**", ""]
    if rows:
        lines += [_row(HEADINGS), _row(["---"] * len(HEADINGS)), *map(_row, rows), ""]
    lines += [f"- {_where(one)}: {one.fate}: {one.reason}" for one in comparison.unmatched]
    return "\n".join([*lines, *(f"- {note}" for note in comparison.notes)])


def cells(change: Change) -> tuple[str, ...]:
    """One change as the texts of a row."""
    return (
        change.level.configuration,
        change.level.point,
        change.metric,
        _mean(change.before),
        _mean(change.after),
        f"{change.change:+.1%}",
        "" if change.noise is None else f"±{change.noise:.1%}",
        f"{change.tolerance:.1%}",
        change.verdict.upper() if change.verdict == "regression" else change.verdict,
    )


def counts(comparison: Comparison) -> str:
    """One line: how many of each verdict, and of the points that are lost or new."""
    words = [_many(len(comparison.of(verdict)), verdict) for verdict in ("regression", "improvement")]
    words += [f"{len(comparison.of(verdict))} {verdict}" for verdict in ("within noise", "within tolerance")]
    for fate in ("lost", "new", "other load", "not valid in both"):
        if number := sum(one.fate == fate for one in comparison.unmatched):
            words.append(f"{_many(number, 'point')} {fate}")
    return ", ".join(words)


def as_object(comparison: Comparison) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "schema": 1,
        "changes": [asdict(change) for change in comparison.changes],
        "unmatched": [asdict(one) for one in comparison.unmatched],
        "notes": list(comparison.notes),
        "regressions": len(comparison.of("regression")),
        "lost": len(comparison.lost),
    }


def _mean(mean: Mean) -> str:
    spread = "" if mean.half_width is None else f" ±{mean.half_width:.2g}"
    return f"{mean.value:.5g}{spread}" + (f" ({mean.repeats})" if mean.repeats > 1 else "")


def _aligned(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADINGS))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(row: Iterable[str]) -> str:
    return f"| {' | '.join(row)} |"


def _where(one: Unmatched) -> str:
    return f"{one.level.configuration} {one.level.point}"


def _many(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"
