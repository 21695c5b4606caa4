"""What is wrong with the arguments of a program, told before anything is started with them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from servesweep.engines.flags import TOPOLOGY, kebab, owned, repeated
from servesweep.engines.vocabulary import Vocabulary
from servesweep.recipe.problems import shown

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SIGNS = "the name of an argument has letters, digits, `.`, `_` and `-` alone"
NUL = "no command line can carry the character '\\x00': remove it"
SERVED = "served-model-name"

Fault = tuple[str, str]


def argument_faults(args: Mapping[str, Any], reserved: frozenset[str], vocabulary: Vocabulary) -> list[Fault]:
    """What is wrong with arguments that become flags, as (`args.<name>`, sentence).

    Names that are none, that the product sets itself, that are abbreviated or given twice; values that are no
    words of a command line.
    """
    twice = dict(repeated(args, vocabulary.full))
    faults = []
    for name, value in args.items():
        sentence = _mistaken(name, reserved, vocabulary)
        if sentence is None and name in twice:
            sentence = f"this argument is given twice: {twice[name]} is the same one, so keep one"
        if sentence := sentence or no_words(value):
            faults.append((f"args.{name}", sentence))
    return faults


def _misnamed(name: str, reserved: frozenset[str]) -> str | None:
    """Why a name is no flag's, with the nearest that is."""
    if NAME.fullmatch(name):
        return None
    bare = name.strip().lstrip("-_.")
    left, equals, value = bare.partition("=")
    if kebab(left) in reserved:
        return TOPOLOGY
    if not bare:
        return "the argument has no name"
    if equals and NAME.fullmatch(left):
        return f"a value stands behind a colon: write {left}: {value}"
    if not NAME.fullmatch(bare):
        return SIGNS
    dashed = name.strip().startswith("-")
    return f"write it without dashes: {bare}" if dashed else f"{SIGNS}: write {bare}"


# The recipes of a sweep have a few dozen names between them.
@lru_cache(maxsize=10_000)
def _mistaken(name: str, reserved: frozenset[str], vocabulary: Vocabulary) -> str | None:
    """Why a name may not stand here: it is no flag's, sets what the product sets, or is no full name."""
    if sentence := _misnamed(name, reserved):
        return sentence
    full = vocabulary.full(name)
    if {kebab(name), full.partition(".")[0]} & reserved:
        return TOPOLOGY
    if kebab(name) in vocabulary.shorts:
        return f"this name has a single dash on a command line: write {full}"
    begun = vocabulary.abbreviated(name, reserved)
    if begun in reserved:
        return f"this is short for {begun}, which servesweep sets itself from the topology: remove it"
    return None if begun is None else f"this is short for {begun}: write the name in full"


def no_words(value: Any) -> str | None:
    """Why a value cannot stand in a command line."""
    if not isinstance(value, list | tuple):
        return _no_word(value)
    if not value:
        return "the list is empty, and a flag without values means something else: remove it"
    for item in value:
        if item is None or isinstance(item, bool | list | tuple):
            return f"{shown(item)} within a list is no word of a command line: write text or numbers"
    return next(filter(None, map(_no_word, value)), None)


def _no_word(item: Any) -> str | None:
    if isinstance(item, str):
        return NUL if "\0" in item else None
    if isinstance(item, dict):
        try:
            json.dumps(item, allow_nan=False)
        except ValueError:
            return "a mapping becomes JSON, which has neither .nan nor .inf: write a number"
    return None


def name_faults(args: Mapping[str, Any], *, several: bool) -> Iterator[Fault]:
    """What is wrong with the served name among arguments; `several`: the server takes more than one."""
    for key in owned(args, {SERVED}):
        value = args[key]
        if value is None or no_words(value):
            continue
        if isinstance(value, list) and not several:
            yield f"args.{key}", "the server has one name, and this is a list: write one"
            continue
        for name in value if isinstance(value, list) else [value]:
            if isinstance(name, bool | dict) or not str(name).strip():
                yield f"args.{key}", f"expected the name that clients ask for, got {shown(name)}"
