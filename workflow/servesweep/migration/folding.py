"""Keys whose meaning is written elsewhere in v2: they go, their comments stay."""

from __future__ import annotations

from servesweep.migration.entries import Block, Entry
from servesweep.migration.remarks import ATTENTION
from servesweep.migration.scope import Scope, get
from servesweep.recipe.grid_values import PLACEHOLDER


def settle_place(scope: Scope, section: str, where: str, dedicated: str) -> None:
    """Write `placement.node` of the frontend or the benchmark's client."""
    places = [
        "dedicated" if _is_on(get(old, section, dedicated)) else get(old, section, where) or "head"
        for old in scope.old
    ]
    block = scope.section(section)
    own = block.get(dedicated) if block else None
    if block and own and swept(own.value):
        sentence = f"{section}.{own.shown()} is left out: let the sweep choose {section}.placement.node"
        block.drop(own, scope.say(sentence, ATTENTION, f"{section}.{dedicated}", origin=own.line))
    said = block is not None and block.get("placement") is not None
    spots = [entry for key in (where, dedicated) if block and (entry := block.get(key))]
    if block and spots and block.get("placement") is None:
        # The placement takes the place of the key that said it.
        first = min(spots, key=block.entries.index)
        lead = first.lead + first.inner_comments()
        place = Entry("placement", f":{first.comment}", lead=lead, block=Block(), line=first.line)
        block.entries[block.entries.index(first)] = place
    for key in (where, dedicated):
        entry = block.get(key) if block else None
        if block and entry and said and entry.data():
            scope.drop(block, entry, f"{section}.", "placement says where it stands")
        elif block is not None:
            fold(block, key)
    scope.settle((section, "placement", "node"), places, default="head")
    made_here = block.get("placement") if block else None
    if block and made_here and made_here.block is not None and not made_here.block.entries:
        fold(block, "placement")


def swept(value: object) -> bool:
    """Whether a sweep puts the value in."""
    return isinstance(value, str) and PLACEHOLDER.fullmatch(value) is not None


def _is_on(value: object) -> bool:
    return bool(value) and not swept(value)


def fold(block: Block, key: str) -> None:
    """Take a key out whose meaning is written elsewhere; its comments stay."""
    entry = block.get(key)
    if entry is not None:
        block.drop(entry)


def tidy(scope: Scope, section: str) -> None:
    """Remove a section that nothing is left of."""
    entry = scope.block.get(section)
    empty = entry is not None and entry.block is not None and not entry.block.entries
    if entry is not None and empty and (len(scope.block.entries) > 1 or not scope.over):
        scope.block.drop(entry)
