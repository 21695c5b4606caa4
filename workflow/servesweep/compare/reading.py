"""Where the numbers come from: directories of results, tables, other tools' files, lockfiles."""

from __future__ import annotations

from collections.abc import Iterator
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
        yield {"configuration": lock.get("configuration") or path.stem, "point": point, **(row or {})}
