"""Where the numbers come from: directories of results, tables, other tools' files, lockfiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

from servesweep.compare.samples import Level, Samples, gathered
from servesweep.report.imports import UnreadableError, read_rows


class NothingToCompareError(Exception):
    """A path that holds no measured points; its text is one sentence."""


def read_side(path: Path) -> dict[Level, Samples]:
    """The levels of whatever `read_rows` reads: results, a table, a lockfile, another tool's file.

    Raises:
        NothingToCompareError: where there is none.
    """
    if not path.exists():
        raise NothingToCompareError(f"{path}: there is no such file or directory")
    try:
        rows = read_rows(path)
    except UnreadableError as error:
        raise NothingToCompareError(str(error)) from None
    if not (found := gathered(rows)):
        raise NothingToCompareError(f"{path}: no measured point is there")
    return found


def refuse_unknown(metrics: Iterable[str], *sides: Mapping[Level, Samples]) -> None:
    """Have a misspelt number not pass for one that has not moved.

    Raises:
        NothingToCompareError: for the first that no point of any side has.
    """
    known = sorted({name for side in sides for samples in side.values() for name in samples.values})
    for metric in metrics:
        if known and metric not in known:
            near = get_close_matches(metric, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise NothingToCompareError(f"no point of either side has {metric}{hint}")
