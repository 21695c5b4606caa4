"""What must not be read is made unreadable in all that a run leaves."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property

from servesweep.recipe.secret_names import REDACTED, is_distinct, variables_in
from servesweep.runtime.written_forms import written_forms

SHORTEST = 6
# A text of this length may have been cut there, in the middle of a value: so long are excerpts of answers.
EXCERPT = 200
SHORTEST_PART = 8


class Blot:
    """Makes values unreadable in a text, in whatever form they are written there."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = {value for value in values if len(value) >= SHORTEST}
        forms = {form for value in self.values for form in written_forms(value) if len(form) >= SHORTEST}
        # The longest first: a shorter one may be a part of it.
        self.forms = sorted(forms, key=lambda form: (-len(form), form))
        self.heads = [(form[: max(SHORTEST_PART, len(form) // 2)], form) for form in self.forms]
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
        heads = {head for head, _ in self.heads}
        least = [head for head in heads if not any(other in head for other in heads - {head})]
        return [head.encode("utf-8", "surrogateescape") for head in sorted(least)]

    def __call__(self, text: str) -> str:
        """The text without the values."""
        for form in self.forms:
            text = text.replace(form, REDACTED)
        return self._without_half(text) if len(text) >= EXCERPT else text

    def in_bytes(self, content: bytes) -> bytes:
        """The text of a file, of whatever encoding, without the values."""
        for form in self.searched:
            content = content.replace(form, REDACTED.encode())
        return content

    def _without_half(self, text: str) -> str:
        for head, form in self.heads:
            at = text.rfind(head, max(0, len(text) - len(form)))
            if at >= 0 and form.startswith(text[at:]):
                return text[:at] + REDACTED
        return text
