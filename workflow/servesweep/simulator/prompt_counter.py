"""Counting the tokens of a prompt's text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tokenizers import Tokenizer


def count_words(text: str) -> int:
    """Count words between white space: the stand-in when there is no tokenizer."""
    return len(text.split())


def text_counter(model_path: Path | None) -> Callable[[str], int]:
    """Give the function that counts a text's tokens, without special tokens.

    Raises ValueError with one sentence when `model_path` holds no readable tokenizer.json.
    """
    if model_path is None:
        return count_words
    file = model_path / "tokenizer.json"
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises bare Exception for every kind of bad file
        raise ValueError(f"{file} cannot be read as a tokenizer: {error}.") from error
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
