"""The account of a migration: what was written, and what a person should look at, that last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from servesweep.migration.migrate import Migrated
from servesweep.migration.remarks import ATTENTION, ROUTINE, Remark
from servesweep.recipe.problems import RecipeError, listed

SHOWN = 5


@dataclass
class Account:
    """Files by what became of them, and the remarks of all, each with the place where it is read."""

    written: int = 0
    unchanged: list[Path] = field(default_factory=list)
    open: set[Path] = field(default_factory=set)
    refused: list[RecipeError] = field(default_factory=list)
    remarks: list[tuple[Path, str, Remark]] = field(default_factory=list)

    def add(self, source: Path, target: Path | None, migrated: Migrated, *, changed: bool) -> None:
        """Count a file; a remark's line is that of the text that was written, else that of the source."""
        self.written += changed
        if not changed:
            self.unchanged.append(source)
        for remark in migrated.remarks:
            line = remark.line
            if line is not None and target is None:
                line = remark.origin or migrated.lines[line - 1]
            place = f"{target or source}" + (f":{line}" if line else "")
            self.remarks.append((source, place, remark))
            if remark.kind == ATTENTION:
                self.open.add(source)

    def refuse(self, error: RecipeError) -> None:
        """Count a file, or a directory, that cannot be migrated."""
        self.refused.append(error)

    def told(self, *, count: bool) -> Iterator[str]:
        """Yield the lines for the terminal: routine in short, notes, decisions, refusals, the count."""
        for kind in ROUTINE:
            yield from self._in_short(kind)
        yield from (f"{place}: {remark.sentence}" for _, place, remark in self._of(attention=False))
        yield from (
            f"{place}: needs attention: {remark.sentence}" for _, place, remark in self._of(attention=True)
        )
        yield from map(str, self.refused)
        if count:
            yield (
                f"{self.written} written, {len(self.unchanged)} unchanged,"
                f" {len(self.open)} need{'s' * (len(self.open) == 1)} attention, {len(self.refused)} refused"
            )
        else:
            yield from (f"{file}: is schema 2 already: nothing is rewritten" for file in self.unchanged)

    def _of(self, *, attention: bool) -> list[tuple[Path, str, Remark]]:
        return [
            one
            for one in self.remarks
            if one[2].kind not in ROUTINE and (one[2].kind == ATTENTION) == attention
        ]

    def _in_short(self, kind: str) -> Iterator[str]:
        found = [(file, remark) for file, _, remark in self.remarks if remark.kind == kind]
        if not found:
            return
        keys = [key for key, _ in Counter(remark.key for _, remark in found).most_common()]
        files = len({file for file, _ in found})
        shown = [*keys[:SHOWN], f"{len(keys) - SHOWN} more"] if len(keys) > SHOWN else keys
        where = f"{files} files" if files > 1 else str(found[0][0])
        times = f", {len(found)} times" if len(found) > 1 else ""
        yield f"{where}: left out{times}, as {kind}: {listed(shown)}"
