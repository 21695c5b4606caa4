"""Parquet without what must not be read in it: its pages are compressed, so that it is written anew."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from servesweep.runtime.blot import Blot


class NoTableError(Exception):
    """A file that cannot be read as Parquet."""


def blotted_table(path: Path, blot: Blot) -> bytes | None:
    """The table without the values in its texts, in the same compression; None where none has one.

    Raises:
        NoTableError: where it is none.
    """
    # Only a run that has secrets needs it, at its end.
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            kinds, table = _compressions(file.metadata), file.read()
        found = False
        for at, field in enumerate(table.schema):
            # Numbers say nothing, and a column of them may be long.
            values = table.column(at).to_pylist() if _may_have_text(str(field.type)) else []
            new = [_cleaned(value, blot) for value in values]
            if new != values:
                found, table = True, table.set_column(at, field, pyarrow.array(new, field.type))
        sink = io.BytesIO()
        if found:
            pyarrow.parquet.write_table(table, sink, compression=kinds)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise NoTableError(str(error)) from None
    return sink.getvalue() if found else None


def _may_have_text(kind: str) -> bool:
    return "string" in kind or "binary" in kind


def _compressions(metadata: Any) -> dict[str, str] | str:
    if not metadata.num_row_groups:
        return "zstd"
    group = metadata.row_group(0)
    columns = map(group.column, range(group.num_columns))
    return {column.path_in_schema: column.compression for column in columns}


def _cleaned(value: Any, blot: Blot) -> Any:
    if isinstance(value, str):
        return blot(value)
    if isinstance(value, bytes):
        return blot.in_bytes(value)
    if isinstance(value, dict):
        return {key: _cleaned(item, blot) for key, item in value.items()}
    # A map comes as a list of pairs.
    return type(value)(_cleaned(item, blot) for item in value) if isinstance(value, list | tuple) else value
