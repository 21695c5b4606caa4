"""A YAML file as lines that belong to keys, so that a key moves with its comments, quotes and spacing.

A round-trip loader ties a comment to the key above it and re-spaces values; here the comment lines above
a key are the key's own, and what nobody rewrites stays as it was, byte by byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

NOTE = "# migrate: "
# Quoted texts, then whatever else is no comment: a `#` begins one at the start or after a space.
COMMENT = re.compile(
    r"""(?: (?<=[\s:,\[{]) "(?:[^"\\]|\\.)*"
          | (?<=[\s:,\[{]) '(?:[^']|'')*'
          | (?!\s\#) .
        )* (?P<comment>\s\#.*)?\Z""",
    re.VERBOSE,
)
INDENT = 2
Line = tuple[str, int | None]


def _comment(line: str) -> str:
    """The comment at the end of a line of YAML; empty when there is none."""
    found = COMMENT.match(line)
    return found["comment"].strip() if found and found["comment"] else ""


@dataclass(eq=False)
class Entry:
    """One key of a block mapping.

    `head` is what follows the key on its line (`: 4  # why`), `lead` the comment and blank lines above,
    `body` the lines of the value below; both are relative to the key's column. A value that is a block
    mapping stands in `block` instead of `body`. `value` is the data, `written` the key with its quotes,
    `line` the 1-based line of the file that it comes from (None: made).
    """

    key: str
    head: str
    value: Any = None
    lead: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    block: Block | None = None
    written: str = ""
    flow: list[tuple[str, str]] | None = None
    line: int | None = None

    def note(self, sentence: str) -> None:
        """Say something to the reader, on a comment line above the key."""
        self.lead.append(NOTE + sentence)

    def rename(self, key: str) -> Entry:
        """Give the entry another key."""
        self.key, self.written = key, key
        return self

    @property
    def comment(self) -> str:
        """The comment at the end of the key's line, with the space before it; empty when there is none."""
        said = _comment(self.head)
        return f" {said}" if said else ""

    def lines(self, indent: int) -> Iterator[Line]:
        """Yield the text, the key at column `indent`, each line with that of the file it comes from."""
        pad, at = " " * indent, self.origin()
        yield from ((pad + line if line else line, at) for line in self.lead)
        # An emptied block stays: a variant may be meant to equal its base.
        emptied = self.block is not None and not self.block.entries
        yield f"{pad}{self.written or self.key}" + (f": {{}}{self.comment}" if emptied else self.head), at
        if self.block is None:
            for below, line in enumerate(self.body, 1):
                yield pad + line if line else line, at and at + below
        else:
            yield from self.block.lines(indent)

    def origin(self) -> int | None:
        """The line of the file that the key comes from; of a made block, that of the first key in it."""
        inner = self.block.entries if self.block else []
        return self.line or next((line for line in (entry.origin() for entry in inner) if line), None)

    def shown(self) -> str:
        """The key and its value as a note quotes them: without comment, a mapping by its key alone."""
        text = self.head.removesuffix(self.comment.strip()).removeprefix(":").strip()
        if not text and isinstance(self.value, list):
            text = one_line(self.value)
        return f"{self.key}: {text}" if text and self.block is None else self.key

    def comments(self) -> list[str]:
        """The comments on the key's line and below, for when the entry goes away."""
        return [line for line in (self.comment.strip(), *self.inner_comments()) if line]

    def inner_comments(self) -> list[str]:
        """The comments below the key's line."""
        found = [_comment(" " + line) for line in self.body]
        for inner in self.block.entries if self.block else ():
            found += [*inner.lead, *inner.comments()]
        found += self.block.tail if self.block else []
        return [line for line in found if line.startswith("#")]

    def data(self) -> Any:
        """The value as it is now."""
        return self.value if self.block is None else self.block.data()


@dataclass(eq=False)
class Block:
    """A block mapping: its entries, the lines after the last one, and its indentation below its key."""

    entries: list[Entry] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    indent: int = INDENT

    def lines(self, indent: int) -> Iterator[Line]:
        """Yield the lines of a block whose key stands at column `indent`, as `Entry.lines` does."""
        column = indent + self.indent
        for entry in self.entries:
            yield from entry.lines(column)
        yield from ((" " * column + line if line else line, None) for line in self.tail)

    def text(self) -> str:
        """The text of a block that is a whole file."""
        return "\n".join(line for line, _ in self.lines(-self.indent))

    def origins(self) -> tuple[int, ...]:
        """For each line of `text` that of the file it comes from; a comment goes with its key."""
        found, last = [], 1
        for _, line in self.lines(-self.indent):
            last = line or last
            found.append(last)
        return tuple(found)

    def data(self) -> dict[str, Any]:
        """The mapping as it is now, merge keys resolved."""
        merged: dict[str, Any] = {}
        for entry in self.entries:
            if entry.key == "<<":
                merged = {**entry.value, **merged}
        return {**merged, **{entry.key: entry.data() for entry in self.entries if entry.key != "<<"}}

    def get(self, key: str) -> Entry | None:
        """The entry of a key."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def take(self, key: str) -> Entry | None:
        """Take an entry out, to put it elsewhere; its comments go with it, blank lines above do not."""
        entry = self.get(key)
        if entry is not None:
            self.entries.remove(entry)
            while entry.lead and not entry.lead[0]:
                entry.lead.pop(0)
        return entry

    def drop(self, entry: Entry, *sentences: str) -> None:
        """Remove an entry; its comments and the sentences about it stay in its place."""
        place = self.entries.index(entry)
        left = [*entry.lead, *(NOTE + sentence for sentence in sentences)]
        left += entry.comments()
        if not any(left):
            left = []
        self.entries.remove(entry)
        follower = self.entries[place].lead if place < len(self.entries) else self.tail
        follower[:0] = left

    def comment_out(self, entry: Entry, sentence: str) -> None:
        """Turn an entry into comments in its place, below its own comments and the sentence about it."""
        lead, entry.lead = entry.lead, []
        text = [line if line.startswith("#") else f"# {line}".rstrip() for line, _ in entry.lines(0)]
        place = self.entries.index(entry)
        self.entries.remove(entry)
        follower = self.entries[place].lead if place < len(self.entries) else self.tail
        follower[:0] = [*lead, NOTE + sentence, *text]

    def insert(self, entry: Entry, order: tuple[str, ...]) -> Entry:
        """Put an entry behind the last of those that precede it in `order`; else ahead of the others."""
        if entry.key not in order:
            self.entries.append(entry)
            return entry
        before = order[: order.index(entry.key)]
        place = max((at + 1 for at, other in enumerate(self.entries) if other.key in before), default=0)
        self.entries.insert(place, entry)
        return entry

    def insert_after(self, entry: Entry, anchors: tuple[str, ...]) -> Entry:
        """Put an entry behind the first of the anchors that is there; else at the end."""
        found = next((one for one in map(self.get, anchors) if one is not None), None)
        place = self.entries.index(found) + 1 if found is not None else len(self.entries)
        self.entries.insert(place, entry)
        return entry


class _Dumper(yaml.SafeDumper):
    """Writes equal values twice rather than once with an anchor."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def made(key: str, value: Any, *, inline: bool = False) -> Entry:
    """Write a new entry; mappings and lists below the key, unless `inline`."""
    if inline or not isinstance(value, dict | list) or not value:
        return Entry(key, f": {one_line(value)}", value)
    if isinstance(value, list):
        text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**9)
        return Entry(key, ":", value, body=["  " + line for line in text.splitlines()])
    return Entry(key, ":", value, block=Block([made(name, item) for name, item in value.items()]))


def one_line(value: Any) -> str:
    """Write a value on one line."""
    text: str = yaml.dump(
        {"_": value} if not isinstance(value, dict | list) else [value],
        Dumper=_Dumper, default_flow_style=isinstance(value, dict | list), sort_keys=False,
        allow_unicode=True, width=10**9,
    )  # fmt: skip
    return text.strip()[1:-1] if isinstance(value, dict | list) else text.removeprefix("_:").strip()


def opened(entry: Entry) -> Block:
    """The entry's block, with aliases, merge keys and `{...}` written out; a null becomes a block."""
    if entry.block is None:
        value = entry.value if isinstance(entry.value, dict) else {}
        block = Block([made(key, item, inline=True) for key, item in value.items()])
        if entry.flow is not None:
            block = Block([Entry(key, f": {text}", value[key]) for key, text in entry.flow])
        for inner in block.entries:
            inner.line = entry.line
        entry.lead += entry.inner_comments()
        entry.head, entry.body, entry.block, entry.flow = f":{entry.comment}", [], block, None
    for merge in [item for item in entry.block.entries if item.key == "<<"]:
        place = entry.block.entries.index(merge)
        own = {item.key for item in entry.block.entries}
        written = [made(key, item) for key, item in merge.value.items() if key not in own]
        if written:
            written[0].lead = merge.lead
        entry.block.entries[place : place + 1] = written
    # A block that was written out has no use for the anchor it was defined under.
    entry.head = re.sub(r"^(:\s*)&\S+\s*", r"\1", entry.head).rstrip() or ":"
    return entry.block
