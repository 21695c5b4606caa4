"""The forms in which programs write a value down: few print it as it is."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus, unquote

# Shorter, a piece of base64 may be anything's.
SHORTEST_CODED = 12
# A line of a value, such as a key's, is searched for by itself as a log goes by lines.
SHORTEST_LINE = 8


def written_forms(value: str) -> set[str]:
    """The value itself, and as it is in JSON, in Python's and a shell's quotes, in a URL, in HTML, in base64.

    Of a value of several lines also each line that is long enough.
    """
    # A password of a URL is written there with percent signs, and told by whom it is sent to without them.
    pieces = {value, value.strip(), unquote(value)}
    lines = {line.strip() for line in value.splitlines()} - pieces
    pieces |= {line for line in lines if len(line) >= SHORTEST_LINE}
    forms = {form for piece in pieces for form in _quoted(piece)}
    return forms | _coded(value) | _coded(value.strip())


def _quoted(text: str) -> set[str]:
    """A text within another one; what is within JSON or a dictionary may be printed in the same way again."""
    once = {text, *_escaped(text)}
    twice = {again for form in once for again in _escaped(form)}
    raw = text.encode("utf-8", "surrogateescape")
    links = {quote(raw), quote(raw, safe=""), quote_plus(raw)}
    lower = {re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), link) for link in links}
    shell = {text.replace("'", other) for other in ("'\\''", "'\"'\"'")}
    return once | twice | links | lower | shell | {html.escape(text), html.escape(text, quote=False)}


def _escaped(text: str) -> Iterator[str]:
    for ascii_only in (True, False):
        form = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield form
        yield form.replace("/", "\\/")
        # Go's way.
        yield re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", form)
    # Python escapes one kind of quotes at most, and which one depends on all that is around.
    raw = text.encode("utf-8", "surrogateescape")
    for parts in (
        [repr(part)[1:-1] for part in text.split("'")],
        [ascii(part)[1:-1] for part in text.split("'")],
        [repr(part)[2:-1] for part in raw.split(b"'")],
    ):
        yield "'".join(parts)
        yield "\\'".join(parts)


def _coded(text: str) -> set[str]:
    """Base64 of the text, alone or amid others, as in `user:password`: three bytes are four letters."""
    raw = text.encode("utf-8", "surrogateescape")
    found = {base64.b64encode(raw).decode()}
    for before in range(3):
        letters = base64.b64encode(bytes(before) + raw).decode()
        # What has bits of a neighbour differs with it.
        first, last = -(-before * 8 // 6), (before + len(raw)) * 8 // 6
        found.add(letters[first:last])
    found |= {form.rstrip("=") for form in found}
    found |= {form.replace("+", "-").replace("/", "_") for form in found}
    return {form for form in found if len(form) >= SHORTEST_CODED}
