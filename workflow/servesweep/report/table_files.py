"""The table of a sweep as CSV text and as Parquet bytes: the same columns in the same order."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

from servesweep.report.columns import COLUMNS, Cell, Row
from servesweep.report.rows import names_of

TYPES = {
    "text": pyarrow.string(),
    "integer": pyarrow.int64(),
    "number": pyarrow.float64(),
    "flag": pyarrow.bool_(),
}


def csv_text(rows: Sequence[Row]) -> str:
    """Return the table as CSV: numbers unrounded, a missing value is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, names_of(rows), lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows({name: _written(cell) for name, cell in row.items()} for row in rows)
    return text.getvalue()


def parquet_bytes(rows: Sequence[Row]) -> bytes:
    """Return the table as Parquet: typed columns, null for a missing value, the meaning of each in its field.

    Columns that this version does not name are numbers.
    """
    known = {column.name: column for column in COLUMNS}
    fields, values = [], []
    for name in names_of(rows):
        column = known.get(name)
        kind = TYPES[column.kind if column else "number"]
        meaning = {"description": column.meaning} if column else None
        fields.append(pyarrow.field(name, kind, metadata=meaning))
        values.append(pyarrow.array([_typed(row.get(name), kind) for row in rows], kind))
    table = pyarrow.Table.from_arrays(values, schema=pyarrow.schema(fields))
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def parquet_rows(path: Path) -> list[Row]:
    """Read the rows of a Parquet file, with the columns that it has.

    Raises:
        ValueError: where it is none.
    """
    rows: list[Row] = pyarrow.parquet.read_table(path).to_pylist()
    return rows


def _written(cell: Cell) -> Cell:
    return str(cell).lower() if isinstance(cell, bool) else cell


def _typed(cell: Cell, kind: Any) -> Cell:
    if cell is None:
        return None
    if kind == TYPES["text"]:
        return str(cell)
    if kind == TYPES["flag"]:
        return cell if isinstance(cell, bool) else None
    if isinstance(cell, str):
        return None
    return int(cell) if kind == TYPES["integer"] else float(cell)
