"""Find out which tool a JSON document comes from. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from servesweep.report.columns import Row
from servesweep.report.imports.inferencex import inferencex_rows, is_inferencex
from servesweep.report.imports.rollup import is_rollup, rollup_rows
from servesweep.report.imports.sa_bench import is_sa_bench, sa_bench_rows

FORMS: tuple[
    tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any], str], list[Row]]], ...
] = (
    (is_inferencex, inferencex_rows),
    (is_rollup, rollup_rows),
    (is_sa_bench, sa_bench_rows),
)


def rows_of(data: object, name: str) -> list[Row]:
    """Rows of a JSON document; none where it has no known form. A list holds documents."""
    if isinstance(data, list):
        return [row for item in data for row in rows_of(item, name)]
    if isinstance(data, dict):
        return next((rows(data, name) for fits, rows in FORMS if fits(data)), [])
    return []
