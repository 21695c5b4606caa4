"""One block of a recipe file and the configurations it takes part in, before and after migration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from servesweep.migration.entries import Block, Entry, made, opened
from servesweep.migration.layering import lists_in, merge, slices_of
from servesweep.migration.remarks import TOLD, Remark

Data = dict[str, Any]

ROLE_ORDER = ("nodes", "workers", "gpus", "critical", "kv_events", "env", "args", "extra_args")
PLACES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("roles",): ("prefill", "decode", "agg"),
    ("engine",): ("type",),
    ("dynamo", "source"): ("git", "rev", "patches"),
    ("resources",): ("gpu_type", "gpus_per_node"),
    ("dynamo",): ("install", "source"),
    **{("roles", role): ROLE_ORDER for role in ("prefill", "decode", "agg")},
}
ANCHORS = {
    "resources": ("model", "name"),
    "engine": ("resources", "model", "name"),
    "roles": ("engine", "backend", "resources"),
    "services": ("roles", "engine"),
    "dynamo": ("frontend", "services", "roles", "engine"),
    "frontend": ("services", "roles", "engine"),
    "benchmark": ("dynamo", "frontend", "services", "roles", "engine"),
}


class _Absent:
    """The value of a key that is not there."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Any = _Absent()


@dataclass(eq=False)
class Scope:
    """A plain recipe, a base, an override or a zip override.

    `old` is the v1 data of every configuration that the block makes (of a zip: one for each position);
    `base` the migrated data that the block is laid on ({} for a plain recipe and for a base). `modern` is a
    file that says `schema: 2` in spite of v1's keys; `speaks_v1` whether its words are v1's, as `backend`.
    """

    label: str
    block: Block
    own: Data
    old: list[Data]
    base: Data
    roles: tuple[str, ...] = ()
    remarks: list[Remark] = field(default_factory=list)
    modern: bool = False
    speaks_v1: bool = True

    @property
    def over(self) -> bool:
        """Whether the block is laid on a base."""
        return self.label.startswith(("override_", "zip_override_"))

    @property
    def zipped(self) -> bool:
        """Whether lists are walked in parallel."""
        return self.label.startswith("zip_override_")

    def say(self, sentence: str, kind: str = TOLD, key: str = "", origin: int | None = None) -> str:
        """Keep a remark for the caller; the sentence is given back, to be written beside a key."""
        labelled = f"{self.label}: {sentence}" if self.label else sentence
        self.remarks.append(Remark(labelled, kind, key, origin=origin))
        return sentence

    def section(self, *path: str) -> Block | None:
        """The block at a path, if there is one that is a mapping."""
        block: Block | None = self.block
        for key in path:
            entry = block.get(key) if block else None
            if entry is None or not isinstance(entry.data(), dict):
                return None
            block = opened(entry)
        return block

    def need(self, *path: str) -> Block:
        """The block at a path, made where it is missing."""
        block = self.block
        for depth, key in enumerate(path):
            entry = block.get(key)
            if entry is None:
                entry = put(block, path[:depth], Entry(key, ":", block=Block()))
            block = opened(entry)
        return block

    def drop(self, block: Block, entry: Entry, where: str, why: str) -> None:
        """Remove a key that says something v2 has no place for; a note with its value stays there."""
        sentence = f"{where}{entry.shown()} is left out: {why}"
        block.drop(entry, self.say(sentence, origin=entry.line))

    def settle(self, path: tuple[str, ...], wanted: list[Any], default: Any = ABSENT) -> None:
        """Write the key at `path` unless every configuration already has the value it had in v1.

        `wanted` holds a value for each configuration, ABSENT for none; `default` is what v2 takes for a
        missing key.
        """
        now = [_at(data, path, default) for data in self.new()]
        if all(same(one, two) for one, two in zip(now, wanted, strict=True)):
            return
        inline, value = self._column(wanted)
        if value is ABSENT:
            self._unset(path)
            return
        block = self.need(*path[:-1])
        entry, fresh = block.get(path[-1]), made(path[-1], value, inline=inline)
        if entry is None:
            put(block, path[:-1], fresh)
        else:
            fresh.head += entry.comment
            fresh.line = entry.line
            fresh.lead = entry.lead + entry.inner_comments()
            block.entries[block.entries.index(entry)] = fresh

    def new(self) -> list[Data]:
        """The migrated data of every configuration, as far as the migration has come."""
        own = self.block.data()
        slices = slices_of(own, len(self.old)) if self.zipped else [own] * len(self.old)
        return [merge(self.base, over) if self.over else over for over in slices]

    def _column(self, wanted: list[Any]) -> tuple[bool, Any]:
        if all(same(value, wanted[0]) for value in wanted):
            value = wanted[0]
            if value is ABSENT:
                return True, None if self.over else ABSENT
            if self.zipped and _has_list(value):
                return True, [value]
            return False, value
        return True, [None if value is ABSENT else value for value in wanted]

    def _unset(self, path: tuple[str, ...]) -> None:
        block = self.section(*path[:-1])
        entry = block.get(path[-1]) if block else None
        if block and entry:
            block.drop(entry)


def put(block: Block, path: tuple[str, ...], entry: Entry) -> Entry:
    """Insert an entry into the block at `path`, where people look for it."""
    if path:
        return block.insert(entry, PLACES.get(path, ()))
    return block.insert_after(entry, ANCHORS.get(entry.key, ()))


def same(one: Any, two: Any) -> bool:
    """Equal, and of one type: true is not 1."""
    return type(one) is type(two) and bool(one == two)


def _has_list(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_list, value.values()))
    return isinstance(value, list)


def _at(data: Data, path: tuple[str, ...], default: Any) -> Any:
    value: Any = data
    for key in path:
        if path[0] == "engine" and isinstance(value, str):
            value = {"type": value}
        if not isinstance(value, dict) or key not in value:
            return default
        value = value[key]
    return value


def get(data: Data, *path: str) -> Any:
    """The value at a path; None where there is none."""
    return _at(data, path, None)


def keep_count(scope: Scope) -> None:
    """Write the names of a zip whose lists all went, so that it still makes as many configurations."""
    count = len(scope.old)
    longest = max((len(leaf) for leaf in lists_in(scope.block.data())), default=0)
    name = get(scope.base, "name")
    if not scope.zipped or longest == count or not isinstance(name, str):
        return
    label = scope.label.removeprefix("zip_override_")
    entry = scope.block.get("name")
    if entry is not None:
        scope.block.entries.remove(entry)
    fresh = made("name", [f"{name}_{label}_{index}" for index in range(count)], inline=True)
    fresh.note(scope.say("the names alone keep these configurations apart"))
    scope.block.insert(fresh, ("name",))


def rewrite(entry: Entry, change: Callable[[Any], Any]) -> None:
    """Change the value of an entry, item by item where it is a zip's list; comments stay."""
    value = [change(item) for item in entry.value] if isinstance(entry.value, list) else change(entry.value)
    if value != entry.value:
        fresh = made(entry.key, value, inline=True)
        entry.lead += entry.inner_comments()
        entry.head, entry.value, entry.body = fresh.head + entry.comment, value, []
