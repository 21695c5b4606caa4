"""`zip_override_*`: lists that are walked in parallel, one variant for each position."""

from __future__ import annotations

from collections.abc import Iterator

from servesweep.recipe.located import Located
from servesweep.recipe.problems import KeyPath, Problem, RecipeError, dotted

CUT = "a zip gives each variant one item of this list, and a sweep needs a list there: write [[1, 2], [4, 8]]"


class ZipError(RecipeError):
    """A zip cannot be cut; `sample` is its first variant, where every list has a value."""

    def __init__(self, problems: list[Problem], sample: Located | None = None) -> None:
        super().__init__(problems)
        self.sample = sample


def zip_slices(block: Located, name: str, file: str) -> list[Located]:
    """Cut a zip block into its variants.

    Every list leaf is a dimension; its i-th item goes to variant i (so a list of lists gives each
    variant a list of its own). A list of one item, and anything that is no list, goes to all.

    Raises:
        ZipError: for no list at all, an empty list, lists of different lengths, or a grid's list that would
            be cut into single values.
    """
    leaves = list(_list_leaves(block, (name,)))
    if not leaves:
        message = "a zip needs at least one list; for a single variant write override_* instead"
        raise ZipError([Problem(file, block.line, name, message)], block)
    empty = [
        Problem(file, leaf.line, dotted(path), "the list is empty") for path, leaf in leaves if not leaf.value
    ]
    if empty:
        raise ZipError(empty)
    single = [
        Problem(file, leaf.line, dotted(path), CUT) for path, leaf in leaves if _is_cut_grid(path, leaf)
    ]
    if single:
        raise ZipError(single)
    length = max(len(leaf.value) for _, leaf in leaves)
    longest = next(path for path, leaf in leaves if len(leaf.value) == length)
    wrong = [
        Problem(file, leaf.line, dotted(path), _mismatch(len(leaf.value), dotted(longest), length))
        for path, leaf in leaves
        if len(leaf.value) not in (1, length)
    ]
    if wrong:
        raise ZipError(wrong, _slice(block, 0))
    return [_slice(block, index) for index in range(length)]


def _is_cut_grid(path: KeyPath, leaf: Located) -> bool:
    """Whether a parameter of the block's own `sweep` would get a value for its list; null removes it."""
    if len(path) != 3 or path[1] != "sweep":
        return False
    return any(item.value is not None and not isinstance(item.value, list) for item in leaf.value)


def _mismatch(count: int, longest: str, length: int) -> str:
    return f"has {count} values, but {longest} has {length}: lists of a zip have one length or one value"


def _list_leaves(node: Located, path: KeyPath) -> Iterator[tuple[KeyPath, Located]]:
    if isinstance(node.value, list):
        yield path, node
    elif isinstance(node.value, dict):
        for key, item in node.value.items():
            yield from _list_leaves(item, (*path, key))


def _slice(node: Located, index: int) -> Located:
    if isinstance(node.value, list):
        chosen: Located = node.value[index if len(node.value) > 1 else 0]
        return chosen
    if isinstance(node.value, dict):
        return Located({key: _slice(item, index) for key, item in node.value.items()}, node.line)
    return node
