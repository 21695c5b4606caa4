"""YAML files with positions: what a recipe says, and on which line it says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from servesweep.recipe.composing import compose, construct
from servesweep.recipe.problems import KeyPath, Problem, RecipeError, dotted

__all__ = ["Document", "load", "parse", "parse_value"]


@dataclass(frozen=True)
class Document:
    """One YAML file: its text, its data, and the 1-based line of every key path."""

    path: str
    text: str
    data: dict[str, Any]
    lines: Mapping[KeyPath, int]

    def line(self, path: KeyPath) -> int:
        """Line of a key path, or of its nearest ancestor that the file has."""
        return nearest_line(self.lines, path)

    def problem(self, path: KeyPath, message: str) -> Problem:
        """Say something about the key at `path`."""
        return Problem(self.path, self.line(path), dotted(path), message)


class FaultyDocumentError(RecipeError):
    """Some values or keys of a file cannot be used; `document` holds the others, for further checks."""

    def __init__(self, problems: Iterable[Problem], document: Document) -> None:
        super().__init__(problems)
        self.document = document


def nearest_line(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """Line of a key path, or of its nearest ancestor; 1 when there is none."""
    for length in range(len(path), -1, -1):
        if (line := lines.get(path[:length])) is not None:
            return line
    return 1


def load(path: Path | str) -> Document:
    """Read one YAML file (YAML 1.2 core types, merge keys, anchors).

    Raises:
        RecipeError: when it cannot be read, is no UTF-8, no YAML, not one mapping, or has duplicate or odd
            keys.
    """
    file = str(path)
    try:
        with open(file, "rb", buffering=0) as opened:  # noqa: PTH123 - half the time of Path.read_bytes
            raw = opened.read()
    except FileNotFoundError:
        raise _refuse(file, None, "there is no such file") from None
    except IsADirectoryError:
        raise _refuse(file, None, "this is a directory, not a file") from None
    except OSError as error:
        raise _refuse(file, None, f"the file cannot be read: {error.strerror or error}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _refuse(file, line, f"the file is not UTF-8 text (byte 0x{raw[error.start]:02x})") from None
    return parse(text, file)


def parse(text: str, file: str) -> Document:
    """Read YAML text; `file` is the name that problems are reported under.

    Raises:
        RecipeError: as `load`; FaultyDocumentError where only some keys or values are at fault.
    """
    node = _compose(text, file)
    if node is None or (isinstance(node, yaml.ScalarNode) and node.tag.endswith(":null")):
        raise _refuse(file, None, "the file is empty")
    if not isinstance(node, yaml.MappingNode):
        kind = "a list" if isinstance(node, yaml.SequenceNode) else "a single value"
        raise _refuse(
            file, node.start_mark.line + 1, f"the top level is {kind}, not a mapping of `key: value`"
        )
    built = construct(node)
    document = Document(file, text, built.data, built.lines)
    if built.faults:
        problems = [Problem(file, line, dotted(path), message) for line, path, message in built.faults]
        raise FaultyDocumentError(problems, document) if built.whole else RecipeError(problems)
    return document


def parse_value(text: str) -> Any:
    """Read one YAML scalar or flow list; a mapping, or what is no YAML, stays the text it is."""
    try:
        node = compose(text)
    except yaml.YAMLError:
        return text
    # What YAML takes for a comment was written on a command line to be said.
    if node is None or isinstance(node, yaml.MappingNode) or node.end_mark.index < len(text.rstrip()):
        return text
    built = construct(node)
    return text if built.faults else built.data


def _compose(text: str, file: str) -> yaml.Node | None:
    try:
        return compose(text)
    except RecursionError:
        raise _refuse(file, 1, "blocks are nested too deeply") from None
    except yaml.composer.ComposerError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        if error.context and "single document" in error.context:
            raise _refuse(
                file, line, "the file holds several documents (`---`); write one recipe a file"
            ) from None
        raise _refuse(file, line, f"not valid YAML: {error.problem}") from None
    except yaml.MarkedYAMLError as error:
        raise _refuse(file, *_syntax(error, text)) from None
    except yaml.reader.ReaderError as error:
        at = text.find(chr(error.character)) if isinstance(error.character, int) else -1
        line = text.count("\n", 0, at) + 1 if at >= 0 else None
        raise _refuse(file, line, "the file holds a control character that YAML does not allow") from None


def _syntax(error: yaml.MarkedYAMLError, text: str) -> tuple[int | None, str]:
    """Line and sentence of a syntax error; what is still open at the end is told where it begins."""
    mark, problem = error.problem_mark or error.context_mark, error.problem or "it cannot be parsed"
    if "cannot start any token" in problem:
        problem += " (a tab, or one of % @ `: indent with spaces and put such text in quotes)"
    elif "mapping values are not allowed" in problem:
        problem += " (a `:` too many, or the line above is not finished: put text with `: ` in quotes,"
        problem += " and indent keys of one section alike)"
    elif "did not find expected key" in problem:
        problem += " (keys of one section are indented alike; a quoted text ends with its quote)"
    elif "expected ',' or '}'" in problem and "{{" in _line(text, error.context_mark):
        mark = error.context_mark
        problem += " (text that begins with { stands in quotes)"
    if error.context_mark and mark and mark.line >= len(text.splitlines()):
        mark = error.context_mark
    line = mark.line + 1 if mark else None
    context = f" {error.context}" if error.context else ""
    return line, f"not valid YAML: {problem}{context}"


def _line(text: str, mark: yaml.Mark | None) -> str:
    """The line of a mark; empty without one."""
    return next(iter(text.splitlines()[mark.line : mark.line + 1]), "") if mark else ""


def _refuse(file: str, line: int | None, message: str) -> RecipeError:
    return RecipeError([Problem(file, line, "", message)])
