"""Read rows from whatever a person names: results, our tables, or files of other tools."""

import csv
import json
import math
from collections.abc import Sequence
from pathlib import Path

from servesweep.report.columns import COLUMNS, Cell, Kind, Row, empty_row
from servesweep.report.imports import lockfile
from servesweep.report.imports.forms import rows_of
from servesweep.report.imports.rollup import is_rollup_csv, rollup_csv_rows
from servesweep.report.named import sweep_at, sweep_listed
from servesweep.report.rows import sweep_rows
from servesweep.report.table_files import parquet_rows

KINDS: dict[str, Kind] = {column.name: column.kind for column in COLUMNS}
MOST_BYTES = 256_000_000


class UnreadableError(ValueError):
    """What was named holds no results; its text is one sentence."""


def read_rows(path: Path, only: Sequence[str] | None = None) -> list[Row]:
    """Return the rows of a results directory, a sweep's list, a table or a lockfile, or other tools' results.

    Every row has every name of `columns.NAMES`, None where the file does not know it. `only` chooses
    and orders the configurations of a results directory.

    Raises:
        UnreadableError: where nothing is there, or nothing that is known.
    """
    if not path.exists():
        raise UnreadableError(f"{path}: no such file or directory")
    rows = _directory(path, only) if path.is_dir() else _file(path)
    if not rows:
        raise UnreadableError(f"{path}: no results in a form that is known here")
    return rows


def _directory(path: Path, only: Sequence[str] | None) -> list[Row]:
    if sweep := sweep_at(path, only):
        return sweep_rows(sweep)
    return [row for file in sorted(path.rglob("*.json")) for row in _json(file, strict=False)]


def _file(path: Path) -> list[Row]:
    try:
        if path.suffix == ".parquet":
            return _parquet(path)
        if path.suffix == ".csv":
            return _csv(path)
        if path.suffix in lockfile.ENDINGS:
            return list(lockfile.lockfile_rows(path))
        return _json(path, strict=True) or _listed(path)
    except lockfile.NoLockfileError as error:
        raise UnreadableError(str(error)) from None
    except OSError as error:
        raise UnreadableError(f"{path}: {error.strerror or error}") from None


def _listed(path: Path) -> list[Row]:
    sweep = sweep_listed(path)
    return sweep_rows(sweep) if sweep else []


def _json(path: Path, *, strict: bool) -> list[Row]:
    """Rows of a JSON file; in a directory (not strict) other files may lie beside."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UnreadableError(f"{path}: larger than {MOST_BYTES // 1_000_000} MB, no summary of a load")
        return rows_of(json.loads(path.read_bytes()), path.stem)
    except (ValueError, RecursionError) as error:
        if strict:
            raise (
                error if isinstance(error, UnreadableError) else UnreadableError(f"{path}: not JSON: {error}")
            ) from None
        return []


def _csv(path: Path) -> list[Row]:
    with path.open(newline="", errors="replace") as text:
        reader = csv.DictReader(text)
        names = reader.fieldnames or []
        if is_rollup_csv(names):
            return rollup_csv_rows(list(reader))
        if not {"configuration", "point", "status"} <= set(names):
            raise UnreadableError(f"{path}: no table of servesweep, and no roll-up of srt-slurm")
        return [
            empty_row()
            | {name: _cell(value, KINDS.get(name, "number")) for name, value in line.items() if name}
            for line in reader
        ]


def _parquet(path: Path) -> list[Row]:
    try:
        rows = parquet_rows(path)
    except ValueError as error:
        raise UnreadableError(f"{path}: not Parquet: {str(error).splitlines()[0]}") from None
    if rows and not {"configuration", "point", "status"} <= set(rows[0]):
        raise UnreadableError(f"{path}: no table of servesweep")
    return [empty_row() | row for row in rows]


def _cell(text: str | None, kind: Kind) -> Cell:
    """A CSV cell as its column's type; None for an empty one, and for text among numbers."""
    if not text:
        return None
    if kind == "text":
        return text
    if kind == "flag":
        return text.lower() == "true"
    try:
        number = float(text)
    except ValueError:
        return None
    return int(number) if kind == "integer" and math.isfinite(number) else number
