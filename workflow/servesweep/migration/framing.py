"""What stands around the mapping of a file: directives, `---`, `...`; it stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from servesweep.migration.reading import Loader, refusal

# YAML takes these for line ends, or editors do, and then lines are counted otherwise.
ODD_BREAKS = {
    "\r": "a carriage return",
    "\x85": "the line end U+0085",
    "\u2028": "the line separator U+2028",
    "\u2029": "the paragraph separator U+2029",
}


@dataclass(frozen=True)
class Framed:
    """A text in three parts, each of whole lines: before the mapping, the mapping, behind it."""

    before: str
    body: str
    behind: str

    @property
    def shift(self) -> int:
        """How many lines stand before the mapping."""
        return self.before.count("\n")


def framed(text: str, name: str) -> Framed:
    """Cut a text; one that is no YAML is body from end to end.

    Raises:
        RecipeError: for several documents, and for characters that break lines otherwise than a line feed.
    """
    for sign, words in ODD_BREAKS.items():
        if sign in text:
            line = text.count("\n", 0, text.index(sign)) + 1
            raise refusal(name, f"{words} stands here alone: end lines with line feeds, and escape it", line)
    try:
        events = [
            event
            for event in yaml.parse(text, Loader=Loader)
            if isinstance(event, yaml.DocumentStartEvent | yaml.DocumentEndEvent)
        ]
    except (yaml.YAMLError, ValueError):
        return Framed("", text, "")
    starts = [event for event in events if isinstance(event, yaml.DocumentStartEvent)]
    ends = [event for event in events if isinstance(event, yaml.DocumentEndEvent)]
    if len(starts) > 1:
        line = _line(starts[1].end_mark)
        raise refusal(name, "the file holds several documents (`---`); write one recipe a file", line + 1)
    lines = text.splitlines(keepends=True)
    first, last = 0, len(lines)
    if starts and starts[0].explicit and _bare(lines[_line(starts[0].end_mark)]):
        first = _line(starts[0].end_mark) + 1
    if ends and ends[0].explicit:
        last = _line(ends[0].start_mark)
    return Framed("".join(lines[:first]), "".join(lines[first:last]), "".join(lines[last:]))


def _bare(line: str) -> bool:
    """Whether nothing but a comment stands behind `---`."""
    rest = line.removeprefix("---").strip()
    return not rest or rest.startswith("#")


def _line(mark: Any) -> int:
    """Number of a mark's line, from 0; either parser has its own type of marks."""
    return int(mark.line)
