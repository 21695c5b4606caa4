"""The results that a lockfile holds, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from servesweep.report.columns import Row, empty_row

ENDINGS = (".yaml", ".yml")


class NoLockfileError(ValueError):
    """A file of YAML without results; its text is one sentence."""


def lockfile_rows(path: Path) -> Iterator[Row]:
    """One row a point: its load and its main numbers.

    Raises:
        NoLockfileError: for a file that is no lockfile, or a broken one.
        OSError: where it cannot be read.
    """
    try:
        data = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except (ValueError, yaml.YAMLError) as error:
        raise NoLockfileError(f"{path}: not a lockfile ({str(error).splitlines()[0]})") from None
    lock = data.get("lock") if isinstance(data, dict) else None
    results = lock.get("results") if isinstance(lock, dict) else None
    if not isinstance(results, dict) or not isinstance(lock, dict):
        raise NoLockfileError(f"{path}: a recipe without results; a run writes its recipe.lock.yaml")
    about: dict[str, Any] = {key: lock.get(key) for key in ("configuration", "recipe", "variant")}
    for point, numbers in results.items():
        if not isinstance(numbers or {}, dict):
            raise NoLockfileError(f"{path}: lock.results.{point} is no point: {str(numbers)[:40]}")
        told = {
            str(name): value for name, value in (numbers or {}).items() if not isinstance(value, dict | list)
        }
        # A lockfile does not tell whether a point was refused, or its run failed.
        status = "valid" if told.get("status") == "valid" else "invalid"
        yield (
            empty_row()
            | about
            | {
                **told,
                "configuration": about["configuration"] or path.stem,
                "point": str(point),
                "status": status,
            }
        )
