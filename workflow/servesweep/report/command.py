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
    "--sweep",
    type=click.Path(path_type=Path),
    help="Of a results directory only the configurations that this file lists, such as results/sweep.json.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Write to this file; - is standard output.",
)
def export(results: Path, form: str, sweep: Path | None, output: Path | None) -> None:
    """Write valid points in the form of another tool, or any results as one of our tables.

    RESULTS is a directory of results or of one configuration, or a sweep's list (results/sweep.json). For csv
    and parquet it may also be whatever `servesweep compare` reads: a table of ours, a lockfile, result files
    of other tools (sa-bench, InferenceX, srt-slurm's roll-up).
    """
    content = _content(results, form, _only(results, sweep))
    if form == "parquet" and (output is None or str(output) == "-") and sys.stdout.isatty():
        raise click.UsageError("parquet is no text: name a file with --output")
    write_output(output, content)


def _only(results: Path, sweep: Path | None) -> list[str] | None:
    from servesweep.report.named import NoListError, listed

    if sweep is None:
        return None
    if not results.is_dir() or (results / "plan.json").exists():
        raise click.UsageError(f"--sweep chooses of a directory of results, and {results} is none")
    try:
        return listed(sweep)
    except NoListError as error:
        _refuse(str(error))


def _content(results: Path, form: str, only: list[str] | None) -> bytes:
    from servesweep.report.export import inferencex_json
    from servesweep.report.imports import UnreadableError, read_rows
    from servesweep.report.named import sweep_at, sweep_listed
    from servesweep.report.table_files import csv_text, parquet_bytes

    if form == "inferencex":
        found = sweep_at(results, only) if results.is_dir() else sweep_listed(results)
        if found is None:
            _refuse(f"{results}: no directory of results, it holds no plan, and no list of a sweep")
        return inferencex_json(found).encode()
    try:
        rows = read_rows(results, only)
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
