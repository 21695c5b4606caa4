"""Which names make a value a secret, and which values there are none all the same.

The words are those by which srt-slurm redacts (https://github.com/NVIDIA/srt-slurm, `fingerprint.py`); names
that only count tokens, or tell where a secret is kept, are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from servesweep.recipe.written import text_of

REDACTED = "***REDACTED***"
WORDS = ("token", "key", "secret", "passw", "credential", "auth")
WORD = re.compile("|".join(WORDS), re.IGNORECASE)
NAME = re.compile(r"[\w.-]+")
# Letters and digits in one long word; a path or an address is none.
LIKE_A_SECRET = r"(?=\S*[0-9])(?=\S*[A-Za-z])(?!\S*://)\w[\w+/=.~-]{7,}"
# In a comment, of YAML or of a shell within it, prose may speak of tokens: a flag, or a name with a value.
NAME_IN_COMMENT = re.compile(
    rf"""(?<![\w.-])(?:-[\w.-]+|[\w.-]++(?=["']?\s*[=:]|[ \t]+["']?{LIKE_A_SECRET}))"""
)
# `https://user:password@host`, or a token alone, which is longer than a user's name and has digits. It begins
# where few texts do, and a word of many letters is read once.
PASSWORD_OF_URL = re.compile(
    r"""://(?:(?P<user>[^\s/?#:@"'<>]*):)?"""
    r"""(?P<password>(?(user)[^\s/?#"'<>]+|(?=[\w.~-]*[0-9])(?=[\w.~-]*[A-Za-z])[\w.~-]{20,}))"""
    r"""@(?P<host>[\w.-]*)"""
)
# The S of SECRET is no plural.
INNOCENT = re.compile(
    # A bound, or each letter of a long word would be followed to its end.
    r"(?:(?:max|min|num|n|total)[a-z_-]{0,60}tokens|tokeni[sz](?:ers?|ed?|es|ing|ations?)|keywords?|keyboards?"
    r"|authors?(?!i[sz])(?:hip|ed|ity|ities)?)(?!ecret)"
    # Of Slurm's accounts, of InfiniBand, of quantization.
    r"|(?<![a-z])per[-_]token|wckey|(?<![a-z])pkey",
    re.IGNORECASE,
)
# Several tokens may be counted, and a key may be one of what is sorted, cut or kept: here the value tells.
TOKENS = re.compile(r"tokens(?!ecret)", re.IGNORECASE)
KEYS = re.compile(
    r"(?:sort|sched|partition|hash|cache|group|routing|primary|prefix|order|index)[-_]?key", re.IGNORECASE
)
# Numbers, also several, and a place for one.
COUNT = re.compile(r"[-+]?\d[\d\s.,:;x/kKmM_+-]*|\{[\w.-]+\}")
# A word of a field's name, in which few digits stand: `user_id`, `userId2`, `$request_uri`.
FIELD = re.compile(r"\$?(?:\d{0,3}[A-Za-z]?[a-z]+(?:[A-Z][a-z]+)*\d{0,3}|[A-Z]+\d{0,3}|\d{0,3})")
BETWEEN_WORDS = re.compile(r"[\s,;:./_-]")
ABOUT = re.compile(
    r"(?:^|[_-])(?:env|dir|mode|type|method|name|len|length|size|count|limit|budget|ratio|threshold)$"
    r"|(?:file|path)$",
    re.IGNORECASE,
)
# The name of a header, where its value is asked for by another.
HEADER = re.compile(r"[A-Za-z-]+")
NO_SECRET = re.compile(r"true|false|yes|no|on|off|none|null|auto|default|", re.IGNORECASE)
NUMBER = re.compile(r"[-+]?[0-9][0-9_.]*(?:e[-+]?[0-9]+)?", re.IGNORECASE)
SHORT_NUMBER = 6
LONGEST_COUNT = 12
LONG_ENOUGH = 8
# No ordinary word is as long as this.
NO_WORD = 24


# The same few names stand in all recipes.
@lru_cache(maxsize=10_000)
def is_secret_name(name: str) -> bool:
    """Whether a value under this name may have to be kept out of files."""
    if WORD.search(name) is None or ABOUT.search(name):
        return False
    return WORD.search(INNOCENT.sub("", name)) is not None


def is_distinct(value: str) -> bool:
    """Whether a value cannot be an ordinary word: an `api-key: simulator` must not hide the engine's name."""
    return len(value) >= LONG_ENOUGH and not (value.isalpha() and len(value) < NO_WORD)


def may_hold_secrets(text: str) -> bool:
    """A quick look: whether a text has a URL with a password, or any word that could be a secret's name."""
    if PASSWORD_OF_URL.search(text):
        return True
    low = text.lower()
    return any(any(map(is_secret_name, _names_in(line))) for word in WORDS for line in _lines_with(low, word))


def _names_in(line: str) -> list[str]:
    return (NAME_IN_COMMENT if line.lstrip().startswith("#") else NAME).findall(line)


def _lines_with(text: str, word: str) -> Iterator[str]:
    """The lines that hold a word; that nearly all of them do not is found out by the fastest search."""
    at = text.find(word)
    while at >= 0:
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[text.rfind("\n", 0, at) + 1 : end]
        at = text.find(word, end)


def variable_of(name: str) -> str:
    """The environment variable for a name: itself, or a flag in capitals."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper()


def is_secret_value(name: str, value: Any) -> bool:
    """Whether the value as a whole is a secret, or refers to one."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    text = (value if isinstance(value, str) else text_of(value)).strip()
    if NO_SECRET.fullmatch(text) or text == REDACTED:
        return False
    rest = INNOCENT.sub("", name)
    if WORD.search(KEYS.sub("", TOKENS.sub("", rest))) is None:
        # Prose has a colon behind its tokens.
        prose = KEYS.search(rest) or TOKENS.fullmatch(rest)
        return not (COUNT.fullmatch(text) or (prose and _is_ordinary(text)))
    words = set(map(str.lower, WORD.findall(rest)))
    if name.lower().endswith("header") and HEADER.fullmatch(text):
        return False
    short = len(text) < SHORT_NUMBER and not words & {"passw", "secret", "credential"}
    counts = short or (words == {"token"} and len(text) <= LONGEST_COUNT)
    return not (counts and NUMBER.fullmatch(text))


def _is_ordinary(text: str) -> bool:
    """Whether a text cannot be a credential: a short word, words, names of fields."""
    words = BETWEEN_WORDS.split(text)
    return len(text) < LONG_ENOUGH or all(len(word) < NO_WORD and FIELD.fullmatch(word) for word in words)


def variables_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process that are secrets, and long enough to be told from other text.

    Of a URL with a password it is the password alone.
    """
    secrets = {
        name: value
        for name, value in environment.items()
        if is_secret_name(name) and not value.startswith("/") and is_secret_value(name, value)
    }
    passwords = {
        f"{name}, for {match['host']}": match["password"]
        for name, value in environment.items()
        if name not in secrets
        for match in PASSWORD_OF_URL.finditer(value)
    }
    return {name: value for name, value in {**secrets, **passwords}.items() if len(value) >= LONG_ENOUGH}
