"""Names that are safe in file names, and stay different where the texts are."""

from __future__ import annotations

import hashlib
import re

UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")


def safe_name(text: str, longest: int) -> str:
    """The text with `-` for what no file name should have.

    One that is very long, or has letters beyond ASCII, ends in a digest, as others would look the same.
    """
    name = UNSAFE.sub("-", text)
    if text.isascii() and len(name) <= longest:
        return name
    return f"{name[: longest - 9].strip('-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}".lstrip("-")
