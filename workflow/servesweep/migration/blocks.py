"""The blocks of a file, each with the configurations that v1 read from it."""

from __future__ import annotations

from typing import Any

from servesweep.migration import v1
from servesweep.migration.entries import Block, opened
from servesweep.migration.layering import merge, slices_of, zip_length
from servesweep.migration.scope import Data, Scope, get
from servesweep.migration.unfolding import completed, unfolded
from servesweep.migration.v1_keys import speaks_v1

VARIANTS = ("override_", "zip_override_")


def scopes_of(root: Block, name: str, *, modern: bool) -> list[Scope]:
    """The blocks of a file: the recipe itself, or the base first and then its variants."""
    data = root.data()
    reading: dict[str, Any] = {"modern": modern, "speaks_v1": not modern or speaks_v1(data)}
    if not isinstance(data.get("base"), dict):
        old = _read(data, {}, modern=modern)
        return [Scope("", root, data, [old], {}, v1.active(old), **reading)]
    base = _read(data["base"], {}, modern=modern)
    scopes = []
    for entry in root.entries:
        if entry.key.startswith(VARIANTS) and isinstance(entry.data(), dict):
            own = entry.data()
            count = zip_length(own, entry.key, name) if entry.key.startswith("zip_") else 1
            slices = slices_of(own, count) if entry.key.startswith("zip_") else [own]
            every = [_read(one, base, modern=modern) for one in slices]
            roles = tuple(role for role in v1.ROLES if any(role in v1.active(one) for one in every))
            scopes.append(Scope(entry.key, opened(entry), own, every, {}, roles, **reading))
    everywhere = tuple(role for role in v1.ROLES if any(role in scope.roles for scope in scopes))
    said = v1.described(base)
    block = next(entry for entry in root.entries if entry.key == "base")
    roles = said or everywhere or v1.active(base)
    first = Scope("base", opened(block), data["base"], [base], {}, roles, **reading)
    if not scopes:
        first.label = ""
    return [first, *scopes]


def _read(own: Data, base: Data, *, modern: bool) -> Data:
    """What v1 read: the block laid on its base; v2's keys of a mixed file are said as v1 did."""
    if modern:
        own = unfolded(own, v1.engine(own if get(own, "backend", "type") else base))
    # Laying it on nothing would delete what null says to an engine.
    read = merge(base, own) if base else own
    return completed(read) if modern else read
