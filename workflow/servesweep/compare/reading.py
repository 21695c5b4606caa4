"""Where the numbers come from: directories of results, tables, other tools' files, lockfiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from servesweep.compare.samples import Level, Samples, gathered
from servesweep.report.imports import UnreadableError, read_rows

LOCKFILES = (".yaml", ".yml")


class NothingToCompareError(Exception):
    """A path that holds no measured points; its text is one sentence."""


def read_side(path: Path) -> dict[Level, Samples]:
    """The levels of a directory of results, of a configuration, a table, a lockfile, or another tool's file.

    Raises:
        NothingToCompareError: where there is none.
    """
    if not path.exists():
        raise NothingToCompareError(f"{path}: there is no such file or directory")
    try:
        rows = list(_locked(path)) if path.suffix in LOCKFILES else list(read_rows(path))
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


def _locked(path: Path) -> Iterator[dict[str, Any]]:
    """The results of a lockfile as rows."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise NothingToCompareError(f"{path}: not a lockfile ({str(error).splitlines()[0]})") from None
    lock = data.get("lock") if isinstance(data, dict) else None
    results = lock.get("results") if isinstance(lock, dict) else None
    if not isinstance(results, dict) or not isinstance(lock, dict):
        raise NothingToCompareError(f"{path}: a recipe without results; a run writes its recipe.lock.yaml")
    for point, row in results.items():
        if not isinstance(row or {}, dict):
            raise NothingToCompareError(f"{path}: lock.results.{point} is no point: {str(row)[:40]}")
        numbers = {str(name): value for name, value in (row or {}).items()}
        yield {"configuration": lock.get("configuration") or path.stem, "point": str(point), **numbers}
