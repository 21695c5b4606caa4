"""Aliases written out, for the files whose anchors would come to stand behind them."""

from __future__ import annotations

from typing import Any

import yaml

from servesweep.migration.entries import one_line


class _Finder(yaml.SafeLoader):
    """Remembers where each alias stands and what it means."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.found: list[tuple[yaml.AliasEvent, yaml.Node]] = []

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose a node as the loader does."""
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) and event.anchor in self.anchors:
            self.found.append((event, self.anchors[event.anchor]))
        return super().compose_node(parent, index)


def without_aliases(text: str) -> str:
    """Put the value for each `*alias`, on its line; the anchors stay where they are."""
    finder = _Finder(text)
    try:
        finder.get_single_node()
    finally:
        finder.dispose()
    lines = text.split("\n")
    for event, node in reversed(finder.found):
        begin, end = event.start_mark, event.end_mark
        assert begin is not None
        assert end is not None
        line, first, last = begin.line, begin.column, end.column
        value = yaml.safe_load(yaml.serialize(node))
        lines[line] = lines[line][:first] + one_line(value) + lines[line][last:]
    return "\n".join(lines)
