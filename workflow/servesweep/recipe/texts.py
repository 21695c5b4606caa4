"""Texts of one line, of a command line or of a file name, where not every character can stand."""

from __future__ import annotations

import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field

# Control characters, separators of lines and paragraphs, halves of a surrogate pair.
NO_PLAIN = frozenset({"Cc", "Zl", "Zp", "Cs"})


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("the text is empty")
    return text


def _plain(text: str) -> str:
    if text.isprintable():
        return text
    if wrong := next((sign for sign in text if unicodedata.category(sign) in NO_PLAIN), None):
        raise ValueError(f"the character {wrong!r} does not belong here: write one plain line")
    return text


def _for_processes(text: str) -> str:
    if "\0" in text:
        raise ValueError("no command line and no variable can carry the character '\\x00': remove it")
    return text


# A name, an alias, a path or an image: something is said, in one line.
Line = Annotated[str, Field(min_length=1), AfterValidator(_not_blank), AfterValidator(_plain)]

# The same, and nothing may be said.
LineOrNothing = Annotated[str, AfterValidator(_plain)]

# A word of a command line, or shell text.
Text = Annotated[str, AfterValidator(_for_processes)]
