"""The recipe files that are named: by path, directory, pattern, and with a variant behind a colon."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from servesweep.recipe.problems import Problem, RecipeError

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class RecipeFile:
    """A recipe as it was named: a file, and perhaps one of its variants."""

    path: str
    selector: str | None = None


def find_recipes(named: str | Iterable[str] | None) -> list[RecipeFile]:
    """Resolve files, directories, globs and `file:selector`, in order and each once.

    Raises:
        RecipeError: for a name that matches nothing.
    """
    words = _words(_spaced(named) if isinstance(named, str) else named or ())
    found, problems = [], []
    for word in words:
        matches = _matches(word)
        if not matches:
            problems.append(Problem(word, None, "", _nothing(word)))
        found += matches
    if not words:
        problems.append(Problem("recipes", None, "", "no recipe is named: say --config recipes=FILE"))
    if problems:
        raise RecipeError(problems)
    return list(dict.fromkeys(found))


def _spaced(named: str) -> list[str]:
    """Names between spaces, as in `recipes="a.yaml b.yaml"`, but for a file that has a space in its name."""
    parts = [named] if Path(named).exists() else named.split(",")
    return [word for part in parts for word in ([part] if _is_there(part) else part.split())]


def _is_there(name: str) -> bool:
    return Path(name).exists() or Path(name.rpartition(":")[0] or name).exists()


def _words(named: Iterable[str]) -> list[str]:
    """Names between commas, too, as in `recipes=a.yaml,b.yaml`; a file may have a comma in its name."""
    return [word for text in named for word in ([text] if Path(text).exists() else text.split(",")) if word]


def _nothing(word: str) -> str:
    if Path(word).exists() and not Path(word).is_dir():
        return "no regular file"
    if Path(word).is_dir():
        return f"the directory holds no recipe ({' or '.join(f'*{suffix}' for suffix in SUFFIXES)})"
    return "no such recipe: no file, no directory, no pattern that matches"


def _matches(word: str) -> list[RecipeFile]:
    path, _, selector = (word, "", "") if Path(word).exists() else word.rpartition(":")
    path, selector = (path, selector) if path else (selector, "")
    if Path(path).is_dir():
        files = sorted((p for p in Path(path).rglob("*") if p.suffix in SUFFIXES), key=str)
    else:
        # pathlib has no absolute patterns.
        named = [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207
        files = list(map(Path, named))
    here = f"{Path.cwd()}{os.sep}"
    return [
        RecipeFile(_plain(str(file), here), selector or None)
        for file in files
        if file.is_file() or _dangles(file)
    ]


def _dangles(file: Path) -> bool:
    """Whether it is a link to nothing, which nobody wants to be left out silently."""
    return file.is_symlink() and not file.exists()


def _plain(path: str, here: str) -> str:
    """One spelling of a path, on which the configuration's name rests: relative below this directory."""
    return os.path.normpath(path).removeprefix(here)
