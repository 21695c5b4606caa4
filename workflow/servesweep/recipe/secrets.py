"""The secrets of a recipe: how they are kept out of everything that is written, and come back for the run.

A secret is planned as `${NAME}`: in a plan, a lockfile, a message there is nothing else of it. NAME is the
variable itself, a flag in capitals (`--api-key` is `API_KEY`), or the host that a URL has a password for
(`https://me:x@hub.example` is `PASSWORD_AT_HUB_EXAMPLE`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from servesweep.recipe.problems import KeyPath
from servesweep.recipe.secret_names import (
    ABOUT,
    is_distinct,
    is_secret_name,
    is_secret_value,
    variable_of,
)
from servesweep.recipe.secret_text import REFERENCE, found_in
from servesweep.recipe.written import text_of

# Texts that a shell reads: it knows what an unset variable means there.
SHELL_KEYS = frozenset({"pre_launch", "preamble", "commands", "teardown", "default_bash_preamble"})


@dataclass(frozen=True, slots=True)
class Secret:
    """A value at a secret place: its key path, its variable, and what stands there."""

    path: KeyPath
    variable: str
    value: str

    @property
    def reference(self) -> str | None:
        """The variable that the value is taken from; None for a value that is written out."""
        found = REFERENCE.fullmatch(self.value)
        return (found[1] or found[2]) if found else None

    @property
    def marker(self) -> str:
        """What is written in its place."""
        return f"${{{self.variable}}}"


Change = Callable[[Secret], str]


def hidden(data: Any) -> Any:
    """The data with `${NAME}` in place of each secret; the same object where there is none.

    A value that an anchor repeats under another name is hidden there too.
    """
    written: dict[str, str] = {}

    def hide(secret: Secret) -> str:
        if secret.reference:
            return secret.value
        if is_distinct(secret.value):
            written[secret.value] = secret.marker
        return secret.marker

    data = changed(data, hide)
    for value in sorted(written, key=len, reverse=True):
        data = _replaced(data, value, written[value])
    return data


@dataclass(frozen=True, slots=True)
class Revealed:
    """Data with its secrets, the values of these, and the references for which there is none."""

    data: Any
    values: tuple[str, ...]
    missing: tuple[Secret, ...]


def revealed(planned: Any, current: Any, environment: Mapping[str, str]) -> Revealed:
    """Undo `hidden`: what `current` has where the same was planned, and else what the environment has.

    `current` is None where there is nothing to read again.
    """
    values: list[str] = []
    missing: list[Secret] = []
    data = planned if current is None else _restored(planned, hidden(current), current)
    for secret in secrets_in(data):
        values += [] if secret.reference else [secret.value]

    def fill(secret: Secret) -> str:
        if secret.reference is None:
            return secret.value
        if secret.reference in environment:
            values.append(environment[secret.reference])
            return environment[secret.reference]
        # A shell has its own way with variables, and may set them itself.
        if not SHELL_KEYS.intersection(map(str, secret.path)):
            missing.append(secret)
        return secret.value

    return Revealed(changed(data, fill), tuple(dict.fromkeys(values)), tuple(missing))


def _restored(planned: Any, hid: Any, real: Any) -> Any:
    """What is real wherever the same was planned."""
    if planned == hid:
        return real
    if isinstance(planned, dict) and isinstance(hid, dict):
        return {
            key: _restored(item, hid[key], real[key]) if key in hid else item for key, item in planned.items()
        }
    if isinstance(planned, list) and isinstance(hid, list) and len(planned) == len(hid):
        return [_restored(*triple) for triple in zip(planned, hid, real, strict=True)]
    return planned


def _replaced(data: Any, old: str, new: str) -> Any:
    if isinstance(data, dict):
        return {key: _replaced(item, old, new) for key, item in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(_replaced(item, old, new) for item in data)
    return data.replace(old, new) if isinstance(data, str) else data


def secrets_in(data: Any) -> list[Secret]:
    """Every secret of the data, written out or as a reference, in order."""
    found: list[Secret] = []

    def keep(secret: Secret) -> str:
        found.append(secret)
        return secret.value

    changed(data, keep)
    return found


def changed(data: Any, change: Change, path: KeyPath = (), name: str | None = None) -> Any:
    """The data with each secret replaced by what `change` gives; `name` is that of a secret around it."""
    if isinstance(data, dict):
        items = {
            key: changed(item, change, (*path, key), _name_below(key, name)) for key, item in data.items()
        }
        return data if all(items[key] is data[key] for key in data) else items
    if isinstance(data, list | tuple):
        words = [changed(item, change, (*path, at), _in_list(data, at, name)) for at, item in enumerate(data)]
        same = all(new is old for new, old in zip(words, data, strict=True))
        return data if same else type(data)(words)
    if name is not None and is_secret_value(name, data):
        # A number is passed on, and printed, as it was written.
        text = data if isinstance(data, str) else text_of(data)
        new = change(Secret(path, variable_of(name), text))
        return data if new == text else new
    return _in_text(data, change, path) if isinstance(data, str) else data


def is_secret_setting(assignment: str) -> bool:
    """Whether `key.path=value` of a command line has a secret written out in it."""
    key, _, value = assignment.partition("=")
    data = {key.rpartition(".")[2].strip(): value.strip().strip("\"'")}
    return any(secret.reference is None for secret in secrets_in(data))


def _name_below(key: Any, around: str | None) -> str | None:
    if isinstance(key, str) and is_secret_name(key):
        return key
    return None if around is None or (isinstance(key, str) and ABOUT.search(key)) else around


def _in_list(words: list[Any] | tuple[Any, ...], at: int, around: str | None) -> str | None:
    """The name that a word of a list stands under: that of the list, or of the flag before it."""
    before, word = words[at - 1] if at else None, words[at]
    if isinstance(word, str) and word.startswith("-"):
        return around
    flag = isinstance(before, str) and re.fullmatch(r"--?[\w.-]+", before) is not None
    return str(before) if flag and is_secret_name(str(before)) else around


def _in_text(text: str, change: Change, path: KeyPath) -> str:
    pieces, end = [], 0
    for found in found_in(text):
        secret = Secret(path, found.variable, text[found.start : found.end])
        pieces += [text[end : found.start], change(secret)]
        end = found.end
    new = "".join([*pieces, text[end:]])
    return text if new == text else new
