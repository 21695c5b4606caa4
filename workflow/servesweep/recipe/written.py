"""Numbers that keep how they were written, for the places where they are text in the end."""

from __future__ import annotations


class WrittenInt(int):
    """A whole number with the text that it was read from, such as `007`."""

    written: str


class WrittenFloat(float):
    """A number with the text that it was read from, such as `12.10`."""

    written: str


def as_written(number: int | float, text: str) -> int | float:
    """The number, with its text where Python would write it in another way."""
    if str(number) == text:
        return number
    kept = WrittenInt(number) if isinstance(number, int) else WrittenFloat(number)
    kept.written = text
    return kept


def text_of(number: int | float) -> str:
    """The number as it was written."""
    return number.written if isinstance(number, WrittenInt | WrittenFloat) else str(number)
