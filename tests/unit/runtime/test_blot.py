"""Values that nobody may read are found in whatever form they are printed."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from servesweep.runtime.blot import Blot

# With all that is written in another way somewhere.
HARD = "k<e>&y/+%=\"quo\\te'd é 0001"
PEM = "-----BEGIN KEY-----\nMIIEabcdefgh+/0001\nMIIEabcdefgh+/0002\n-----END KEY-----\n"
HIDDEN = "***REDACTED***"


def twice(text: str) -> str:
    return json.dumps(json.dumps({"a": text}))


def go(text: str) -> str:
    return json.dumps(text).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": json.dumps,
    "JSON in its own letters": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON of PHP": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON of Go": go,
    "JSON in JSON": twice,
    "a dictionary": lambda text: str({"A": text}),
    "a dictionary with quotes of both kinds": lambda text: repr(f"{text} \" '"),
    "a dictionary of JSON": lambda text: str({"A": json.dumps({"b": text})}),
    "bytes": lambda text: repr(text.encode()),
    "only ASCII": ascii,
    "a shell's quotes": shlex.quote,
    "a URL's path": quote,
    "a URL's field": quote_plus,
    "a URL's part": lambda text: quote(text, safe=""),
    "a URL in small letters": lambda text: re.sub("%..", lambda two: two[0].lower(), quote(text, safe="")),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
}  # fmt: skip


@pytest.mark.parametrize("secret", [HARD, PEM, "sk-abcdef0123"], ids=["hard", "lines", "plain"])
@pytest.mark.parametrize("form", FORMS)
def test_a_value_is_found_in_every_usual_form(form: str, secret: str) -> None:
    line = f"<{FORMS[form](secret)}>"
    told = Blot([secret])(line)
    assert HIDDEN in told
    # Nothing is left but brackets, quotes and the other words of the line.
    assert not [piece for piece in ("0001", "0002", "abcdef", "BEGIN", "c2st") if piece in told]
    assert len(told) < len(HIDDEN) + 30


def test_every_line_of_a_value_is_found_by_itself() -> None:
    blot = Blot([PEM])
    assert blot("  MIIEabcdefgh+/0002") == f"  {HIDDEN}"
    assert blot("MIIEabcdefgh%2B%2F0002") == HIDDEN


@pytest.mark.parametrize("user", ["", "u", "us", "user", "somebody"])
def test_basic_authentication_has_a_value_in_the_middle(user: str) -> None:
    header = base64.b64encode(f"{user}:sk-abcdef0123".encode()).decode()
    told = Blot(["sk-abcdef0123"])(f"Authorization: Basic {header}").removeprefix("Authorization: Basic ")
    # What is left are the user's letters, and those that a neighbour has a part in.
    assert HIDDEN in told
    assert len(told.replace(HIDDEN, "")) <= 4 * (len(user) + 1) / 3 + 5


def test_an_excerpt_that_ends_in_a_value_loses_its_beginning_too() -> None:
    answer = f"{'x' * 190}sk-abcdef0123"
    assert Blot(["sk-abcdef0123"])(answer[:200]) == f"{'x' * 190}{HIDDEN}"
    # A name may begin as a secret does.
    assert Blot(["tiny-model-key"])("tiny-model") == "tiny-model"


@pytest.mark.parametrize("left", range(4, 13))
def test_where_a_text_was_cut_no_beginning_of_a_value_is_left(left: int) -> None:
    blot, part = Blot(["sk-abcdef0123"]), "sk-abcdef0123"[:left]
    # Unmarked, at the length of an excerpt; marked, wherever it stands.
    assert blot(f"{'x' * (200 - left)}{part}") == f"{'x' * (200 - left)}{HIDDEN}"
    sentence = '1 failed: HTTP 401 ("key {}… is wrong"); too few'
    assert blot(sentence.format(part)) == sentence.format(HIDDEN)
    assert blot.in_bytes(sentence.format(part).encode()) == sentence.format(HIDDEN).encode()


def test_the_longest_part_goes_of_a_value_that_repeats_itself() -> None:
    assert Blot(["abcdabcdXY"])("key abcdabcd…") == f"key {HIDDEN}…"
    assert Blot(["dabc0000", "abcdabcX"])("key abcdabc…") == f"key {HIDDEN}…"


def test_a_cut_within_a_form_of_a_value_is_one_too() -> None:
    told = json.dumps("pass\\word\\0123")[1:-1]
    assert Blot(["pass\\word\\0123"])(f'{{"key": "{told[:8]}…') == f'{{"key": "{HIDDEN}…'


def test_what_many_values_begin_with_tells_nothing() -> None:
    assert Blot(["sk-abcdef0123"])("keys begin with sk-…") == "keys begin with sk-…"


def test_a_shorter_value_does_not_spoil_a_longer_one() -> None:
    assert Blot(["abcdef", "abcdef-0123"])("abcdef-0123 abcdef") == f"{HIDDEN} {HIDDEN}"
