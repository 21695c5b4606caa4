"""Numbers that keep how they were written, for the places where they are text in the end."""

from __future__ import annotations

from yaml.representer import SafeRepresenter


class WrittenInt(int):
    """A whole number with the text that it was read from, such as `007`."""

    written: str

    def __repr__(self) -> str:
        return self.written

    __str__ = int.__repr__


class WrittenFloat(float):
    """A number with the text that it was read from, such as `12.10`."""

    written: str

    def __repr__(self) -> str:
        return self.written

    __str__ = float.__repr__


# In files that are YAML again they are plain numbers.
SafeRepresenter.add_representer(WrittenInt, SafeRepresenter.represent_int)
SafeRepresenter.add_representer(WrittenFloat, lambda dumper, number: dumper.represent_float(float(number)))


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
