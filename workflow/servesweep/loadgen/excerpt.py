"""The beginning of a text that may be long."""

EXCERPT = 200
# Whoever keeps secrets out of what is written tells by it where half of one may stand.
CUT = "…"


def excerpt(text: str, length: int = EXCERPT) -> str:
    """The text, or as much of it as `length` has room for, with `…` where it was cut."""
    return text if len(text) <= length else text[: length - len(CUT)] + CUT
