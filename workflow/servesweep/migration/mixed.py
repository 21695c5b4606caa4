"""A file that says `schema: 2` and is written with v1's keys is read as its migration would be."""

from __future__ import annotations

from dataclasses import replace

from servesweep.migration.v1_keys import speaks_v1, v1_keys
from servesweep.recipe.problems import Problem, RecipeError, listed
from servesweep.recipe.source import Document, parse

SHOWN = 3


def in_v2_words(document: Document) -> tuple[Document, tuple[str, ...]]:
    """The document as `servesweep migrate` writes it, with the lines of the file as it is, and notes.

    Any other document comes back as it is: one of v2, and one that names its engine
    as v2 does, whose keys of v1 are mistakes.

    Raises:
        RecipeError: for a recipe of v1 that says no schema, and when it cannot be migrated.
    """
    data = document.data
    base = data.get("base")
    schema = data.get("schema", base.get("schema") if isinstance(base, dict) else None)
    if schema in (None, 1) and speaks_v1(data):
        at = document.line(("schema",)) if "schema" in data else None
        message = f"this is a recipe of v1: `servesweep migrate {document.path}` writes it as schema 2"
        raise RecipeError([Problem(document.path, at, "schema" if at else "", message)])
    if schema != 2 or not speaks_v1(data):
        return document, ()
    # Few files need it, and every start of the program would pay for it.
    from servesweep.migration.migrate import migrate_text

    migrated = migrate_text(document.text, document.path)
    read = parse(migrated.text, document.path)
    # A text over several lines may have become one, or more.
    last = len(migrated.lines) - 1
    lines = {path: migrated.lines[min(line - 1, last)] for path, line in read.lines.items()}
    keys = v1_keys(data)
    shown = [*keys[:SHOWN], f"{len(keys) - SHOWN} more"] if len(keys) > SHOWN else keys
    note = f"written with keys of v1 ({listed(shown)}); planned as `servesweep migrate` writes it"
    return replace(read, lines=lines), (note, *migrated.notes)
