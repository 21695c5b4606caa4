"""What must be known of the names of a program's flags, to find those that are meant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from servesweep.engines.flags import kebab, named

# Fewer letters begin so many flags that no program takes them for one.
SHORTEST = 2


# Each program has one, so that it is compared as itself.
@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Names of flags in kebab case, without dashes; all are meant in any spelling.

    `read` are flags that this project reads, so that they must be written in full; `aliases` lead from
    further names to them, and `shorts` from names with a single dash. `further` are flags of the program
    whose names begin a longer one, and are no abbreviation of it.
    """

    read: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)
    shorts: Mapping[str, str] = field(default_factory=dict)
    further: frozenset[str] = frozenset()

    # The same few names stand in all recipes.
    @lru_cache(maxsize=10_000)  # noqa: B019 - vocabularies live as long as their engines, which is always
    def full(self, name: str) -> str:
        """The flag that a name means; of a dotted one (`config.key`) the key stays."""
        base, dot, key = kebab(name).partition(".")
        return self.aliases.get(base, self.shorts.get(base, base)) + dot + key

    def spelt_out(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by the flags that they mean."""
        return {self.full(name): value for name, value in args.items()}

    def abbreviated(self, name: str, reserved: Iterable[str]) -> str | None:
        """The flag that a name begins: Python's argparse takes a beginning for the whole name.

        A reserved one is told before others. Source: https://docs.python.org/3/library/argparse.html,
        "Argument abbreviations".
        """
        base, names = kebab(name).partition(".")[0], frozenset(reserved)
        known = [*sorted(names), *sorted(self.read), *sorted(self.aliases)]
        if len(base) < SHORTEST or base in {*known, *self.shorts, *self.further}:
            return None
        begun = next((flag for flag in known if flag.startswith(base)), None)
        return None if begun is None else self.full(begun)


NO_WORDS = Vocabulary()


def sizes(args: Mapping[str, Any], *names: str) -> int | None:
    """The product of parallel sizes among arguments with full names; None where none is given."""
    given = [int(str(args[name])) for name in names if str(args.get(name)).isdigit()]
    return math.prod(given) if given else None


def unless_named(
    args: tuple[str, ...], words: Mapping[str, str], vocabulary: Vocabulary = NO_WORDS
) -> tuple[str, ...]:
    """The flags that a command line does not give itself, by its own or another name, with their values."""
    given = {vocabulary.full(name) for name in named(args)}
    return tuple(word for name in words if name not in given for word in (f"--{name}", words[name]))
