"""One configuration beside the reference's rows for it, and the count of what is equal and what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from servesweep.plan.plan import Plan

Row = dict[str, Any]


@dataclass
class Tally:
    """Equal and different things by kind, and the configurations to which a row of the table applies."""

    table: Mapping[str, tuple[int, str]]
    equal: Counter[str] = field(default_factory=Counter)
    total: Counter[str] = field(default_factory=Counter)
    applied: dict[str, set[str]] = field(default_factory=dict)
    different: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.applied = {row: set() for row in self.table}

    def compare(self, case: Case, kind: str, what: str, *pairs: tuple[Any, Any]) -> None:
        """Count one thing of a kind; `pairs` are (ours, the reference's after the table's differences)."""
        wrong = [unlike(ours, theirs) for ours, theirs in pairs if ours != theirs]
        self.total[kind] += 1
        if wrong:
            self.different.append(f"{kind}: {case.name}: {what}: {'; '.join(wrong)}")
        else:
            self.equal[kind] += 1

    def lines(self) -> list[str]:
        """The result: `n of n` by kind and in all, and the table."""
        rows = [f"{self.equal[kind]:6} of {count:6} {kind}" for kind, count in self.total.items()]
        rows.append(f"{self.equal.total():6} of {self.total.total():6} in all")
        table = [f"{len(self.applied[row]):6} {row}: {why}" for row, (_, why) in self.table.items()]
        return [*rows, "deliberate differences, with the configurations that have them:", *table]

    def counts(self) -> dict[str, int]:
        """The configurations of each row."""
        return {row: len(names) for row, names in self.applied.items()}


@dataclass
class Case:
    """One configuration: its plan, and the reference's rows in commands.jsonl.gz and placement.jsonl.gz.

    `recipe` is the migrated recipe; `refused` the sentence with which it is refused as it is, or empty.
    """

    name: str
    plan: Plan
    row: Row
    placed: Row
    recipe: Row
    refused: str
    tally: Tally

    @property
    def dynamo(self) -> bool:
        return self.plan.frontend == "dynamo"

    @property
    def nats(self) -> bool:
        return self.plan.deployment.request_plane == "nats"

    def differs(self, difference: str) -> None:
        """Apply a row of the table."""
        self.tally.applied[difference].add(self.name)


def unlike(ours: Any, theirs: Any) -> str:
    """Both values, of mappings only what differs."""
    if isinstance(ours, tuple) and isinstance(theirs, tuple) and len(ours) == len(theirs):
        return ", ".join(unlike(one, two) for one, two in zip(ours, theirs, strict=True) if one != two)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted(key for key in {*ours, *theirs} if ours.get(key) != theirs.get(key))
        return ", ".join(f"{key}: {ours.get(key)!r}, reference {theirs.get(key)!r}" for key in keys)
    return f"{ours!r}, reference {theirs!r}"
