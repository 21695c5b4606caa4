"""`servesweep export`: the results in a form that other tools read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from servesweep.report.atomic import write_output

FORMS = ("inferencex", "csv", "parquet")


@click.command()
@click.argument("results", type=click.Path(path_type=Path, exists=True), default=Path("results"))
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    required=True,
    help="inferencex: a JSON list, one object a point.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Write to this file; - is standard output.",
)
def export(results: Path, form: str, output: Path | None) -> None:
    """Write valid points in the form of another tool, or any results as one of our tables.

    RESULTS is a results directory. For csv and parquet it may also be a table of ours or result files of
    other tools: sa-bench, InferenceX, srt-slurm's roll-up.
    """
    content = _content(results, form)
    if form == "parquet" and (output is None or str(output) == "-") and sys.stdout.isatty():
        raise click.UsageError("parquet is no text: name a file with --output")
    write_output(output, content)


def _content(results: Path, form: str) -> bytes:
    from servesweep.report.export import inferencex_json
    from servesweep.report.imports import UnreadableError, read_rows
    from servesweep.report.sweep import load_sweep
    from servesweep.report.table_files import csv_text, parquet_bytes

    if form == "inferencex":
        if not next(results.glob("*/plan.json"), None):
            _refuse(f"{results}: no results directory, it holds no plan")
        return inferencex_json(load_sweep(results)).encode()
    try:
        rows = read_rows(results)
    except UnreadableError as error:
        _refuse(str(error))
    written: dict[str, Callable[[], bytes]] = {
        "csv": lambda: csv_text(rows).encode(),
        "parquet": lambda: parquet_bytes(rows),
    }
    return written[form]()


def _refuse(sentence: str) -> NoReturn:
    click.echo(sentence, err=True)
    sys.exit(1)
