"""A block laid on a base, and a zip cut into the blocks it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from servesweep.migration.reading import refusal

Data = dict[str, Any]


def merge(base: Any, over: Any) -> Any:
    """Lay `over` on `base`: mappings recursively, null deletes, everything else replaces."""
    if not isinstance(over, dict):
        return over
    merged = dict(base) if isinstance(base, dict) else {}
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def zip_length(block: Data, label: str, name: str) -> int:
    """Number of configurations of a zip block.

    Raises:
        RecipeError: for no list, an empty list, or lists of different lengths.
    """
    lengths = {len(leaf) for leaf in lists_in(block)}
    longest = max(lengths, default=0)
    if not longest or lengths - {1, longest}:
        raise refusal(name, "the lists of a zip have one length or one value", None, label)
    return longest


def slices_of(block: Data, length: int) -> list[Data]:
    """Cut a zip block into its `length` configurations."""

    def cut(value: Any, index: int) -> Any:
        if isinstance(value, dict):
            return {key: cut(item, index) for key, item in value.items()}
        if isinstance(value, list):
            return value[index if len(value) > 1 else 0]
        return value

    return [cut(block, index) for index in range(length)]


def lists_in(value: Any) -> Iterator[list[Any]]:
    """Yield the lists that a zip walks."""
    if isinstance(value, list):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from lists_in(item)
