"""Where secrets stand within a text: behind a flag or a name, and in the address of a URL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from servesweep.recipe.secret_names import (
    PASSWORD_OF_URL,
    WORD,
    is_secret_name,
    is_secret_value,
    variable_of,
)

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)")
# A name begins with a letter or is a flag; what is in front of it within its word is none of it. No letter is
# given back, or a word of many would be read once for each of them.
NAME = re.compile(
    r"(?<![\w.-])(?:(?!--?[A-Za-z]|[A-Za-z_])[\w.-])*+(?P<name>(?:--?[A-Za-z]|[A-Za-z_])[\w.-]*+)",
    re.IGNORECASE,
)
# `--api-key x`, `--api-key=x`, `NAME=x`, `"api_key": "x"`, `Authorization: Bearer x`: what follows a name.
VALUE = re.compile(
    r"""["']?(?P<between>\s*[=:]\s*|\s+)(?:(?:Bearer|Basic|Token)\s+)?"""
    r"""(?:"(?P<double>[^"\n]*)"|'(?P<single>[^'\n]*)'|(?P<bare>\$\{\w+\}|[^\s"'`,;|&<>(){}]+))""",
    re.IGNORECASE,
)
# A place for a value that is put in by name.
PLACE = re.compile(r"\{[\w.-]+\}")


@dataclass(frozen=True, slots=True)
class Found:
    """A secret within a text: the variable that it is planned as, and from where to where it stands."""

    variable: str
    start: int
    end: int


def found_in(text: str) -> Iterator[Found]:
    """Each secret of a text, in order; none is within another."""
    if WORD.search(text) is None and "://" not in text:
        return
    passwords = [found for match in PASSWORD_OF_URL.finditer(text) if (found := _password(text, match))]
    named = _named(text, {found.start: found.end for found in passwords})
    end = 0
    for found in sorted([*passwords, *named], key=lambda one: one.start):
        if found.start >= end:
            yield found
            end = found.end


def _password(text: str, match: re.Match[str]) -> Found | None:
    value = match["password"]
    if PLACE.fullmatch(value) or _by_shell(value) or not is_secret_value("password", value):
        return None
    # By its host alone, as it may stand in an environment, a flag and a comment alike.
    host = variable_of(match["host"])
    return Found(f"PASSWORD_AT_{host}" if host else "URL_PASSWORD", *match.span("password"))


def _named(text: str, passwords: dict[int, int]) -> Iterator[Found]:
    """The secrets with a name in front; `https://token:x@host` has none, but a user of that name."""
    at = 0
    while name := NAME.search(text, at):
        # What follows the name may be a name itself.
        at = name.end()
        match = VALUE.match(text, at) if is_secret_name(name["name"]) else None
        if match is None:
            continue
        group = next(group for group in ("double", "single", "bare") if match[group] is not None)
        if match.start(group) in passwords:
            at = passwords[match.start(group)]
        elif _is_value(name["name"], match, match[group]):
            yield Found(variable_of(name["name"]), *match.span(group))
            at = match.end()


def _is_value(name: str, match: re.Match[str], value: str) -> bool:
    spaced, flag = not match["between"].strip(), name.startswith("-")
    if spaced and (not flag or value.startswith("-")):
        return False
    return is_secret_value(name, value) and not _by_shell(value)


def _by_shell(value: str) -> bool:
    """Whether a shell makes the value: it is written nowhere."""
    return value.startswith("$") and not REFERENCE.fullmatch(value)
