"""JSON files that are looked at again and again: a file that has not changed is not read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

Kept = TypeVar("Kept")
Stamp = tuple[int, int, int]


class Reader:
    """Keeps what it made of each file, until the file's time, size or inode is another one."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Stamp, Any]] = {}

    def read(self, path: str | Path, make: Callable[[Mapping[str, Any]], Kept]) -> Kept:
        """What `make` makes of the JSON object; of an empty one where the file is missing or broken."""
        name = os.fspath(path)
        try:
            found = os.stat(name)  # noqa: PTH116 - called ten thousand times a second
        except OSError:
            self._kept.pop(name, None)
            return make({})
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        kept = self._kept.get(name)
        if kept is None or kept[0] != stamp:
            kept = self._kept[name] = (stamp, make(_object(name)))
        return kept[1]


def names_in(directory: str | Path) -> frozenset[str]:
    """Names in a directory; none where there is none."""
    try:
        return frozenset(os.listdir(directory))  # noqa: PTH208
    except OSError:
        return frozenset()


def _object(name: str) -> Mapping[str, Any]:
    try:
        data = json.loads(Path(name).read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
