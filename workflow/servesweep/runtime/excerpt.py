"""The beginning of a text that may be long: of a server's answer, of a line of a log."""

# The blot tells by it where half of a secret may stand.
CUT = "…"


def excerpt(text: str, length: int) -> str:
    """The text, or as much of it as `length` has room for, with `…` where it was cut."""
    return text if len(text) <= length else text[: length - len(CUT)] + CUT
