"""The sweep as a table for a terminal of 120 columns."""

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

from servesweep.report.files import Failure
from servesweep.report.measures import TERMINAL, fixed
from servesweep.report.sweep import Point, Sweep, load_sweep

WIDTH = 120
LONGEST_LINE = 160
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
MOST_REASONS = 20
SHORTEST_NAME = 10
MOST_POINTS = 4
TOO_BUSY = "the client was too busy for the times to be trusted in"


def summary_table(results: Path, only: Sequence[str] | None = None) -> str:
    """Return the points of a results directory as aligned text, at most 120 columns, reasons below.

    Reads the configurations of `only` in that order, or every directory that has a plan. Metrics are shown
    for valid points alone.
    """
    sweep = load_sweep(results, only)
    lines = [*_table(sweep), "", *_counts(sweep), *_reasons(sweep)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _table(sweep: Sweep) -> list[str]:
    words = [("", "", ""), ("configuration", "point", "status")]
    words += [(point.configuration, point.id, point.status) for point in sweep.points]
    groups = [measure.group if measure.group != "Throughput" else "" for measure in TERMINAL]
    numbers = [
        [group if group not in groups[:i] else "" for i, group in enumerate(groups)],
        [measure.heading for measure in TERMINAL],
    ]
    numbers += [[fixed(point.metric(m.key), m.decimals) for m in TERMINAL] for point in sweep.points]
    number_widths = [max(len(row[i]) for row in numbers) for i in range(len(TERMINAL))]
    word_widths = [max(len(row[i]) for row in words) for i in range(3)]
    room = WIDTH - sum(number_widths) - 2 * len(TERMINAL) - 4 - word_widths[2]
    word_widths[1] = min(word_widths[1], max(room - word_widths[0], SHORTEST_NAME))
    word_widths[0] = min(word_widths[0], max(room - word_widths[1], SHORTEST_NAME))
    return [
        "  ".join(
            [shortened(word, width).ljust(width) for word, width in zip(names, word_widths, strict=True)]
            + [number.rjust(width) for number, width in zip(values, number_widths, strict=True)]
        )
        for names, values in zip(words, numbers, strict=True)
    ]


def shortened(text: str, width: int) -> str:
    """Cut the middle out of a text that is too wide: ids differ at their ends."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def _counts(sweep: Sweep) -> list[str]:
    states = ", ".join(f"{number} {status}" for status, number in sweep.count().items() if number)
    configurations = len(sweep.configurations)
    told = [f"{configurations} configuration{'s' * (configurations != 1)}; points: {states or 'none'}"]
    if judged := sweep.judged:
        missed = f"{len(sweep.missed)} of {len(judged)} valid points with objectives missed one (slo_missed)"
        told.append(f"{missed}: {_named(sweep.missed)}" if sweep.missed else missed)
    if busy := sweep.saturated:
        told.append(f"{TOO_BUSY} {len(busy)} of them (client_saturated): {_named(busy)}; use a quiet machine")
    return [line for one in told for line in _wrapped(one)]


def _named(points: Sequence[Point]) -> str:
    """The first few points by name, and how many more there are."""
    names = [f"{point.configuration} {point.id}" for point in points]
    more = f" and {len(names) - MOST_POINTS} more" if len(names) > MOST_POINTS else ""
    return ", ".join(names[:MOST_POINTS]) + more


def _reasons(sweep: Sweep) -> list[str]:
    """One paragraph a failed configuration, and one a point that is invalid or has a stale result."""
    told: list[str] = []
    for configuration in sweep.configurations:
        if configuration.failure:
            told.append(f"failed   {configuration.id}: {first_cause(configuration.failure)}")
        for point in configuration.points:
            if point.reason and not (configuration.failure and point.status == "failed"):
                place = f"{configuration.id} {point.id}".rstrip()
                told.append(f"{point.status:<8} {place}: {point.reason}")
    shown = [line for reason in told[:MOST_REASONS] for line in _wrapped(reason)]
    more = len(told) - MOST_REASONS
    return [*([""] if told else []), *shown, *([f"… and {more} more, see summary.csv"] if more > 0 else [])]


def first_cause(failure: Failure) -> str:
    """Say in one line what failed first, where, how it ended, where its log is and the log's last line."""
    facts = [
        failure.step,
        f"on {failure.node}" if failure.node else None,
        f"exit code {failure.exit_code}" if failure.exit_code is not None else None,
        failure.signal,
        f"log {failure.log}" if failure.log else None,
    ]
    said = ", ".join(fact for fact in facts if fact)
    message = " ".join(failure.message.split()) or "no message"
    last = next((line for line in map(_plain, reversed(failure.tail)) if line and not _of_srun(line)), "")
    told = f"; last line: {textwrap.shorten(last, LONGEST_LINE, placeholder=' …')}" if last else ""
    return f"{failure.stage or 'run'}: {message}{f' ({said})' if said else ''}{told}"


def _of_srun(line: str) -> bool:
    """Whether srun says how a task ended, which is told already."""
    return line.startswith("srun: ")


def _plain(line: str) -> str:
    """A line of a log without what a terminal would obey."""
    text = ESCAPES.sub("", line)
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _wrapped(reason: str) -> list[str]:
    return textwrap.wrap(reason, WIDTH, subsequent_indent=" " * 9, break_on_hyphens=False)
