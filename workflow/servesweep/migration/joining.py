"""A key of v1 moves to where v2 has it, where v2's own key may stand already."""

from __future__ import annotations

from servesweep.migration.entries import Block, Entry, opened
from servesweep.migration.scope import ROLE_ORDER, Scope


def move_to_role(scope: Scope, home: Block, entry: Entry, role: str, key: str) -> Entry:
    """Take an entry out of its v1 block and put it into a role as `key`; gives the entry that is there.

    What the role says already stays: equal values are one, mappings are joined, and of two different
    values v1's leaves a note.
    """
    target = scope.need("roles", role)
    present = target.get(key)
    if present is None:
        home.take(entry.key)
        return target.insert(entry.rename(key), ROLE_ORDER)
    where = f"roles.{role}.{key}"
    if isinstance(entry.data(), dict) and isinstance(present.data(), dict):
        _join(scope, opened(entry), opened(present), where)
        home.drop(entry)
    elif entry.data() == present.data():
        home.drop(entry)
    else:
        scope.drop(home, entry, "", f"{where} says otherwise")
    return present


def _join(scope: Scope, source: Block, target: Block, where: str) -> None:
    """Move the entries that the target does not have."""
    for entry in list(source.entries):
        other = target.get(entry.key)
        if other is None:
            source.take(entry.key)
            target.entries.append(entry)
        elif other.data() != entry.data():
            other.note(scope.say(f"{entry.shown()} is left out: {where} says otherwise"))
