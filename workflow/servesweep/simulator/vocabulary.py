"""Made-up words: the same ones in the simulator's answers and in the tokenizer of its model directory."""

from __future__ import annotations

import itertools
import random

_ONSETS = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z"]
_VOWELS = ["a", "e", "i", "o", "u"]
_SYLLABLES = tuple(onset + vowel for onset in _ONSETS for vowel in _VOWELS)


def made_up_words(count: int) -> tuple[str, ...]:
    """Give the first `count` words of a fixed endless list: lower-case ASCII letters, all different."""
    lengths = itertools.count(2)
    words = ("".join(parts) for length in lengths for parts in itertools.product(_SYLLABLES, repeat=length))
    return tuple(itertools.islice(words, count))


def answer_words(seed: int, count: int = 64) -> tuple[str, ...]:
    """Give the words an answer cycles through, in an order that the seed decides."""
    return tuple(random.Random(seed).sample(made_up_words(count), count))
