"""What is wrong with the free-form command line of a replica."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from servesweep.engines.flags import named
from servesweep.engines.vocabulary import Vocabulary
from servesweep.recipe.problems import listed

PORT = "port"


def word_faults(
    words: Iterable[str], reserved: frozenset[str], ranks: frozenset[str], vocabulary: Vocabulary
) -> list[str]:
    """Sentences about flags that the topology sets, that are abbreviated, or that are given twice.

    `reserved` are all flags that the topology sets for an engine; of them a replica's line must not give the
    port and its `ranks`. Of flags that may be repeated, only those that this project reads may not.
    """
    words, known = list(words), reserved | {PORT}
    flags = [(f"--{name}", name) for name in named(words)] + _short(words, vocabulary)
    meant = [(told, vocabulary.abbreviated(name, known) or vocabulary.full(name)) for told, name in flags]
    if port := [told for told, flag in meant if flag == PORT]:
        return [f"every replica serves on port 8080, which servesweep sets: remove {port[0]}"]
    if given := dict.fromkeys(told for told, flag in meant if flag in ranks):
        return [f"servesweep sets the ranks of a replica itself: remove {listed(given)}"]
    return [*_abbreviated(flags, known, vocabulary), *_repeated(meant, vocabulary)]


def _short(words: Iterable[str], vocabulary: Vocabulary) -> list[tuple[str, str]]:
    """Names with a single dash, whose value may stand right behind: `-tp 8`, `-tp=8`, `-n2`."""
    names = [
        word[1:].partition("=")[0].rstrip("0123456789")
        for word in words
        if word.startswith("-") and not word.startswith("--")
    ]
    return [(f"-{name}", name) for name in names if name in vocabulary.shorts]


def _abbreviated(
    flags: Iterable[tuple[str, str]], known: frozenset[str], vocabulary: Vocabulary
) -> Iterator[str]:
    for told, name in flags:
        if (begun := vocabulary.abbreviated(name, known)) is not None:
            yield f"{told} is short for --{begun}: write the name in full"


def _repeated(meant: Iterable[tuple[str, str]], vocabulary: Vocabulary) -> Iterator[str]:
    seen: dict[str, str] = {}
    for told, flag in meant:
        if flag in vocabulary.read and flag in seen:
            same = "" if seen[flag] == told else f"{seen[flag]} is the same one, so "
            yield f"{told} is given twice: {same}keep one"
        seen.setdefault(flag, told)
