"""`servesweep migrate`: files and directories of v1 recipes."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE|DIR...")
@click.option("--in-place", is_flag=True, help="Write each file where it is.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False, allow_dash=True),
    help="Write below this directory; - is standard output, for one file.",
)
def migrate(paths: tuple[Path, ...], in_place: bool, output: Path | None) -> None:
    """Rewrite v1 recipes as schema 2, keeping comments and order; one file alone goes to the terminal.

    Of a directory every *.yaml and *.yml is rewritten; of several the output has a directory each. What v2
    has no place for is a comment in the file, and a note on the terminal; the notes that need a decision come
    last, then the count, and how many of the written files use what this version cannot run. A file that is
    no recipe, or cannot be read or written, is named and stays as it is; the others are written, and the exit
    code is 1.
    """
    if in_place and output is not None:
        raise click.UsageError("say --in-place or --output, not both")
    several = len(paths) > 1 or paths[0].is_dir()
    if several and output == Path("-"):
        raise click.UsageError("standard output takes one file: for several say --in-place or --output DIR")
    output = None if output == Path("-") else output
    if several and not in_place and output is None:
        raise click.UsageError("for several files say --in-place or --output DIR")
    # Every process of a run starts the command line, and none of them migrates anything.
    from servesweep.migration.files import migrate_files
    from servesweep.plan.after_migration import unrunnable_lines

    written, whole = migrate_files(paths, in_place=in_place, output=output)
    for line in unrunnable_lines(written):
        click.echo(line, err=True)
    if not whole:
        sys.exit(1)
