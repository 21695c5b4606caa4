"""What the migration has to say about a file: routine, told, or in need of a person's attention."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from servesweep.migration.entries import NOTE

ATTENTION = "attention"
TOLD = "told"
# Of these there may be hundreds, and nobody has to act: the sentence's part that all of them share.
SET_BY_THE_PRODUCT = "servesweep sets it"
DEFAULT = "it is the default"
ROUTINE = (SET_BY_THE_PRODUCT, DEFAULT)


@dataclass(frozen=True)
class Remark:
    """One sentence; its kind; of a routine one the key.

    `line` is the 1-based line of the new text where it stands, `origin` that of the key in the old one, where
    they are known.
    """

    sentence: str
    kind: str = TOLD
    key: str = ""
    line: int | None = None
    origin: int | None = None

    def moved(self, shift: int) -> Remark:
        """The remark in texts that have `shift` lines more above."""
        return replace(
            self,
            line=None if self.line is None else self.line + shift,
            origin=None if self.origin is None else self.origin + shift,
        )


def located(remarks: Iterable[Remark], text: str) -> tuple[Remark, ...]:
    """The remarks with the lines of the comments that were written for them, in that order."""
    comments = [
        (number, line.strip().removeprefix(NOTE))
        for number, line in enumerate(text.split("\n"), 1)
        if line.strip().startswith(NOTE)
    ]
    found = []
    for remark in remarks:
        place = next((one for one in comments if remark.sentence.endswith(one[1])), None)
        if place is not None:
            comments.remove(place)
        found.append(replace(remark, line=place[0] if place else None))
    return tuple(sorted(found, key=lambda remark: remark.line or 0))
