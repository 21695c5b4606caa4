"""The configurations that a person names: a directory of results, one of its own, a sweep's list."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from servesweep.report.sweep import Sweep, load_sweep


class NoListError(ValueError):
    """A file that lists no configurations; its text is one sentence."""


def sweep_at(path: Path, only: Sequence[str] | None = None) -> Sweep | None:
    """The sweep of a directory; None where it has no plan. `only` chooses and orders its configurations."""
    if (path / "plan.json").exists():
        directory = path.resolve()
        return load_sweep(directory.parent, [directory.name])
    if only is not None or next(path.glob("*/plan.json"), None):
        return load_sweep(path, only)
    return None


def sweep_listed(path: Path) -> Sweep | None:
    """The sweep of a list such as `results/sweep.json`, beside it; None where the file is none."""
    try:
        return load_sweep(path.parent, listed(path))
    except NoListError:
        return None


def listed(path: Path) -> list[str]:
    """The configurations that a sweep's list names.

    Raises:
        NoListError: for a file that is none.
    """
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        data = None
    names = data.get("configurations") if isinstance(data, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise NoListError(f"{path}: no list of configurations; a run of snakemake writes it")
    return names
