"""From YAML text to entries: which lines belong to which key."""

from __future__ import annotations

from typing import Any

import yaml

from servesweep.migration.entries import Block, Entry
from servesweep.recipe.problems import Problem, RecipeError

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read(text: str, name: str) -> Block:
    """Read the block mapping that a file is; values as YAML 1.1 reads them, as v1 did.

    Raises:
        RecipeError: for what is no YAML, no block mapping, or has a key twice.
    """
    try:
        node = yaml.compose(text, Loader=Loader)
        data = yaml.load(text, Loader=Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise refusal(name, f"not valid YAML: {error.problem}", mark.line + 1 if mark else None) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise refusal(name, f"not valid YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(node, yaml.MappingNode):
        raise refusal(name, "this is no recipe: the file is not a mapping of `key: value`")
    lines = text.split("\n")
    if node.flow_style or not node.value:
        raise refusal(name, "this is no recipe in block style: write one `key: value` a line")
    return _Reader(lines, name).block(node, data, 0, len(lines), 0)


def refusal(name: str, sentence: str, line: int | None = None, key: str = "") -> RecipeError:
    """One sentence about a file."""
    return RecipeError([Problem(name, line, key, sentence)])


class _Reader:
    def __init__(self, lines: list[str], name: str) -> None:
        self.lines = lines
        self.name = name

    def block(self, node: yaml.MappingNode, data: dict[str, Any], first: int, end: int, column: int) -> Block:
        """Cut the lines [first, end) of a mapping, whose key stands at `column`, into its entries."""
        own = node.value[0][0].start_mark.column
        keys = [key.start_mark.line for key, _ in node.value]
        block = Block(indent=own - column)
        start = first
        for place, (key, value) in enumerate(node.value):
            line = keys[place]
            limit = keys[place + 1] if place + 1 < len(keys) else end
            stop = self.stop(value, line, limit, own)
            entry = self.entry(key, value, data, line, stop, own)
            entry.lead = self.relative(start, line, own)
            if entry.key != "<<" and block.get(entry.key):
                raise refusal(self.name, "this key stands here twice", line + 1, entry.key)
            block.entries.append(entry)
            start = stop
        names = {entry.key for entry in block.entries}
        for entry in block.entries:
            if entry.key == "<<":
                entry.value = {key: item for key, item in data.items() if key not in names}
        block.tail = self.relative(start, end, own)
        return block

    def entry(
        self, key: yaml.Node, value: yaml.Node, data: dict[str, Any], line: int, stop: int, own: int
    ) -> Entry:
        if not isinstance(key, yaml.ScalarNode) or key.start_mark.line != key.end_mark.line:
            raise refusal(self.name, "a key is not plain text", line + 1)
        text = self.lines[line]
        if text[: key.start_mark.column].strip() not in ("", "---"):
            raise refusal(self.name, "a key does not stand at the beginning of its line", line + 1)
        merge = key.tag == "tag:yaml.org,2002:merge"
        written = text[key.start_mark.column : key.end_mark.column]
        found = None if merge else data.get(key.value, data.get(_constructed(key)))
        entry = Entry(str(key.value), text[key.end_mark.column :], found, written=written, line=line + 1)
        below = isinstance(value, yaml.MappingNode) and not value.flow_style and bool(value.value)
        child = value.value[0][0].start_mark if below else None
        if child is not None and line < child.line < stop and child.column > own and not merge:
            assert isinstance(value, yaml.MappingNode)
            if not isinstance(found, dict):
                raise refusal(self.name, "this block is no mapping of `key: value`", line + 1, entry.key)
            entry.block = self.block(value, found, line + 1, stop, own)
        else:
            entry.body = self.relative(line + 1, stop, own)
            entry.flow = self.flow(value, line)
        return entry

    def flow(self, node: yaml.Node, line: int) -> list[tuple[str, str]] | None:
        """The texts of the values of a `{...}` on one line."""
        marks = (node.start_mark.line, node.end_mark.line)
        if not isinstance(node, yaml.MappingNode) or not node.flow_style or marks != (line, line):
            return None
        pairs = []
        for key, value in node.value:
            if value.start_mark.line != line or key.tag.endswith(":merge"):
                return None
            pairs.append((key.value, self.lines[line][value.start_mark.column : value.end_mark.column]))
        return pairs

    def stop(self, value: yaml.Node, line: int, limit: int, own: int) -> int:
        """First line after a key's value, and after the comments that are indented deeper than the key."""
        last = max(line, min(self.last(value), limit - 1))
        for number in range(last + 1, limit):
            text = self.lines[number].strip()
            if text and not text.startswith("#"):
                last = number
        for number in range(last + 1, limit):
            text = self.lines[number]
            if text.strip():
                if len(text) - len(text.lstrip()) <= own:
                    break
                last = number
        return last + 1

    def last(self, node: yaml.Node) -> int:
        """Last line of a node; of an alias, whatever line its anchor ends on."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            child = node.value[-1]
            return self.last(child[1] if isinstance(child, tuple) else child)
        mark = node.end_mark
        line = int(mark.line) - (1 if mark.column == 0 and mark.line > node.start_mark.line else 0)
        while line > node.start_mark.line and line < len(self.lines) and not self.lines[line].strip():
            line -= 1
        return line

    def relative(self, first: int, end: int, column: int) -> list[str]:
        """Lines [first, end) without the indentation of a key at `column`."""
        cut = []
        for line in self.lines[first:end]:
            indent = min(len(line) - len(line.lstrip(" ")), column)
            cut.append(line[indent:])
        return cut


def _constructed(key: yaml.ScalarNode) -> Any:
    """The key as YAML 1.1 reads it: `on:` is True there."""
    if key.style:
        return key.value
    read = yaml.load(key.value, Loader=Loader)
    return key.value if isinstance(read, dict | list) else read
