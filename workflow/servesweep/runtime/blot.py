"""What must not be read is made unreadable in all that a run leaves."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import AnyStr

from servesweep.recipe.secret_names import REDACTED, is_distinct, variables_in
from servesweep.runtime.excerpt import CUT
from servesweep.runtime.written_forms import written_forms

SHORTEST = 6
# A text of this length may have been cut by a program that does not tell it, in the middle of a value.
EXCERPT = 200
# What a value begins with, and no more, tells nothing: `sk-`, `hf_`.
SHORTEST_PART = 4
# A file of any kind may have fewer letters of a value by chance.
SHORTEST_HINT = 8


class Blot:
    """Makes values unreadable in a text, in whatever form they are written there."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = {value for value in values if len(value) >= SHORTEST}
        forms = {form for value in self.values for form in written_forms(value) if len(form) >= SHORTEST}
        # The longest first: a shorter one may be a part of it.
        self.forms = sorted(forms, key=lambda form: (-len(form), form))
        self.searched = [form.encode("utf-8", "surrogateescape") for form in self.forms]

    @classmethod
    def of(cls, values: Iterable[str]) -> Blot:
        """For the secrets of a run, and those of the environment around it."""
        return cls([*values, *variables_in(os.environ).values()])

    def distinct(self) -> Blot:
        """The one for what programs read, which loses only what cannot be an ordinary word."""
        return Blot(filter(is_distinct, self.values))

    @cached_property
    def hints(self) -> list[bytes]:
        """What is found in every file that has a value in it, or most of one, and in few others."""
        heads = {form[: max(SHORTEST_HINT, len(form) // 2)] for form in self.forms}
        least = [head for head in heads if not any(other in head for other in heads - {head})]
        return [head.encode("utf-8", "surrogateescape") for head in sorted(least)]

    @cached_property
    def beginnings(self) -> list[bytes]:
        """The least of a value that is taken for a part of it, where a text was cut."""
        return sorted({form[:SHORTEST_PART].encode("utf-8", "surrogateescape") for form in self.forms})

    def __call__(self, text: str) -> str:
        """The text without the values."""
        for form in self.forms:
            text = text.replace(form, REDACTED)
        text = _without_parts(text, CUT, self.forms, REDACTED)
        return _without_part(text, self.forms, REDACTED) if len(text) >= EXCERPT else text

    def in_bytes(self, content: bytes) -> bytes:
        """The text of a file, of whatever encoding, without the values."""
        for form in self.searched:
            content = content.replace(form, REDACTED.encode())
        return _without_parts(content, CUT.encode(), self.searched, REDACTED.encode())


def _without_parts(text: AnyStr, cut: AnyStr, forms: Sequence[AnyStr], hidden: AnyStr) -> AnyStr:
    """The text without the beginning of a value before each mark of a cut."""
    pieces = text.split(cut)
    return cut.join([_without_part(piece, forms, hidden) for piece in pieces[:-1]] + pieces[-1:])


def _without_part(text: AnyStr, forms: Sequence[AnyStr], hidden: AnyStr) -> AnyStr:
    """The text without the beginning of a value at its end."""
    begun = [at for form in forms if (at := _begun(text, form)) is not None]
    return text[: min(begun)] + hidden if begun else text


def _begun(text: AnyStr, form: AnyStr) -> int | None:
    """Where a form begins that the end of the text cuts; it may have its beginning in its middle too."""
    at = text.find(form[:SHORTEST_PART], max(0, len(text) - len(form)))
    while at >= 0 and not form.startswith(text[at:]):
        at = text.find(form[:SHORTEST_PART], at + 1)
    return at if at >= 0 else None
