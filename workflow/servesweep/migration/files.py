"""Files and directories of v1 recipes, each read, migrated and written in one piece."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from servesweep.migration.account import Account
from servesweep.migration.migrate import Migrated, migrate_text
from servesweep.recipe.problems import Problem, RecipeError

SUFFIXES = (".yaml", ".yml")


def migrate_files(paths: tuple[Path, ...], *, in_place: bool, output: Path | None) -> tuple[list[Path], bool]:
    """Migrate them in place, into a directory, or to the terminal.

    Returns:
        the files that were written, or are as they were to be, and whether none was refused.
    """
    to_terminal = not in_place and output is None
    account = Account()
    # Of files that were refused too: another may not take their place.
    written: set[Path] = set()
    good: list[Path] = []
    for path in paths:
        if path.is_dir() and not any(_files((path,))):
            account.refuse(_refusal(path, f"the directory holds no {' or '.join(SUFFIXES)} file"))
    for source, relative in _files(paths):
        target = None if to_terminal else source if output is None else output / relative
        try:
            if target in written:
                raise _refusal(source, f"another file was written to {target} already")
            migrated, changed = _migrate_file(source, target)
            account.add(source, target, migrated, changed=changed)
            good += [target] if target is not None else []
        except RecipeError as error:
            account.refuse(error)
        if target is not None:
            written.add(target)
    for line in account.told(count=not to_terminal):
        click.echo(line, err=True)
    return good, not account.refused


def _files(paths: tuple[Path, ...]) -> Iterator[tuple[Path, Path]]:
    """Yield (file, path below the output directory), the files of a directory sorted."""
    for path in paths:
        if path.is_dir():
            # Directories of one migration may hold files of one name.
            below = Path(path.resolve().name if len(paths) > 1 else "")
            found = (file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())
            yield from ((file, below / file.relative_to(path)) for file in sorted(found))
        else:
            yield path, Path(path.name)


def _migrate_file(source: Path, target: Path | None) -> tuple[Migrated, bool]:
    """Migrate and write one file; whether its text changed."""
    try:
        raw = source.read_bytes()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise _refusal(source, f"the file cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise _refusal(source, "the file is not UTF-8 text") from None
    migrated = migrate_text(text, str(source))
    if target is None:
        click.echo(migrated.text, nl=False)
    else:
        _write(source, target, _bytes(raw, text, migrated))
    return migrated, migrated.text != text


def _bytes(raw: bytes, text: str, migrated: Migrated) -> bytes:
    """The bytes to write; those of the file itself where nothing changed."""
    return raw if migrated.text == text else migrated.text.encode()


def _write(source: Path, target: Path, content: bytes) -> None:
    """Write to a temporary name beside the target, then rename; the file's mode stays."""
    try:
        if target.exists() and target.read_bytes() == content:
            return
        real = target.resolve()
        real.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            Path(temporary).chmod(source.stat().st_mode & 0o777)
            Path(temporary).replace(real)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise _refusal(source, f"{target} cannot be written: {error.strerror or error}") from None


def _refusal(source: Path, sentence: str) -> RecipeError:
    return RecipeError([Problem(str(source), None, "", sentence)])
