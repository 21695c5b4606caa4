"""`servesweep compare`: a gate for CI, and a picture of what moved."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

REGRESSION, UNUSABLE = 1, 2


@click.command()
@click.argument("baseline", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.option(
    "--tolerance",
    "tolerances",
    multiple=True,
    metavar="[METRIC=]5%",
    help="How much worse a number may become; may be repeated. Default: 5%.",
)
@click.option("--metric", "metrics", multiple=True, help="Judge this column; default: the usual eight.")
@click.option("--allow-missing", is_flag=True, help="A point that is not valid any more is no regression.")
@click.option("--all", "everything", is_flag=True, help="Print what did not move, too.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print one object.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write compare.html, compare.svg and compare.json into this directory.",
)
def compare(
    baseline: Path,
    new: Path,
    tolerances: tuple[str, ...],
    metrics: tuple[str, ...],
    allow_missing: bool,
    everything: bool,
    as_markdown: bool,
    as_json: bool,
    output: Path | None,
) -> None:
    """Judge NEW against BASELINE: exits with 1 where a number became worse, or a point was lost.

    Each is a directory of results or of one configuration, a sweep's list (results/sweep.json), summary.csv
    or summary.parquet, a lockfile, or a result file of another tool. A number is worse where it is worse than
    the tolerance allows and, where points were repeated, by more than their spread explains. Exits with 2
    where nothing can be compared.
    """
    # Drawing libraries take a second to load, and every process of a run starts this command line.
    from servesweep.compare import judge, text
    from servesweep.compare.reading import NothingToCompareError, read_side, refuse_unknown
    from servesweep.compare.samples import is_measured
    from servesweep.compare.tolerance import ToleranceError, read_tolerance

    if output is not None and str(output) == "-":
        raise click.UsageError("--output names a directory, and - is none: --json and --markdown are printed")
    unknown = [metric for metric in metrics if not is_measured(metric)]
    try:
        if unknown:
            raise ToleranceError(f"{unknown[0]} is no measured number of the tables, such as p99_ttft_ms")
        sides = read_side(baseline), read_side(new)
        tolerance = read_tolerance(tolerances)
        refuse_unknown([*metrics, *tolerance.special], *sides)
        found = judge.compare(*sides, tolerance, metrics or judge.GATED)
    except (NothingToCompareError, ToleranceError, judge.BeyondNumbersError) as error:
        click.echo(str(error), err=True)
        sys.exit(UNUSABLE)
    if as_json:
        click.echo(json.dumps(text.as_object(found)))
    else:
        click.echo((text.markdown if as_markdown else text.told)(found, everything))
    if output is not None:
        try:
            _write(output, found, str(baseline), str(new))
        except OSError as error:
            # 1 would tell CI of a regression.
            click.echo(f"{error.filename or output}: {error.strerror or error}", err=True)
            sys.exit(UNUSABLE)
    if found.of("regression") or (found.lost and not allow_missing):
        sys.exit(REGRESSION)
    if not found.changes:
        click.echo(f"{baseline} and {new} have no point and no number in common", err=True)
        sys.exit(UNUSABLE)


def _write(output: Path, found, baseline: str, new: str) -> None:  # type: ignore[no-untyped-def]
    from servesweep.compare.page import page, picture
    from servesweep.compare.text import as_object
    from servesweep.report.atomic import replace_file

    output.mkdir(parents=True, exist_ok=True)
    svg = picture(found)
    texts = {
        "compare.svg": svg,
        "compare.html": page(found, baseline, new, svg),
        "compare.json": json.dumps(as_object(found), indent=1) + "\n",
    }
    for name, text in texts.items():
        replace_file(output / name, text.encode())
