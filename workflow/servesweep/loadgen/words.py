"""Texts with an exact number of tokens, made of words that cost one token each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from servesweep.loadgen.errors import LoadgenError
from servesweep.loadgen.tokenizer_class import AnyTokenizer

ENOUGH_WORDS = 4096
CANDIDATES_A_ROUND = 8192
ADJUST_ROUNDS = 120
RESTART_ROUNDS = 20
MOST_EXTRA_CUT = 6
ENCODE_BATCH = 64


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a tokenizer.json or the one in a model directory; raises LoadgenError with the path."""
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise LoadgenError(
            f"no tokenizer at {file}: name a tokenizer.json or a model directory that holds one"
        )
    try:
        tokenizer: Tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the Rust binding raises a bare Exception
        raise LoadgenError(f"cannot read the tokenizer {file}: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@cache
def pseudo_words() -> list[str]:
    """The 4,900 two-syllable words (baba … zuzu) used when there is no tokenizer."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    return [first + second for first, second in itertools.product(syllables, syllables)]


class WordSource:
    """Makes texts with an exact number of words, where there is no tokenizer."""

    shortest = 1

    def words(self, rng: np.random.Generator, count: int) -> list[str]:
        """The beginning of a text, `count` words."""
        return _pick(rng, pseudo_words(), count)

    def texts(
        self, rng: np.random.Generator, lengths: Sequence[int], heads: Sequence[list[str]]
    ) -> list[str]:
        """One text for each length, which begins with its head."""
        return [
            " ".join(head + _pick(rng, pseudo_words(), max(0, n - len(head))))
            for n, head in zip(lengths, heads, strict=True)
        ]


class TokenSource:
    """Makes texts with an exact number of tokens from words that cost one token after a space.

    The text is checked by encoding it again as the server will: with the special tokens (such as BOS) that
    the tokenizer adds for the completions api, without them for chat, where the template has its own.
    """

    def __init__(self, tokenizer: AnyTokenizer, *, special: bool) -> None:
        self._tokenizer = tokenizer
        self._special = special
        self._words, self._starters = _one_token_words(tokenizer)
        self.shortest = 1 + (tokenizer.num_special_tokens_to_add(False) if special else 0)

    def words(self, rng: np.random.Generator, count: int) -> list[str]:
        """The beginning of a text: words of about `count` tokens together."""
        return _pick(rng, self._starters, 1) + _pick(rng, self._words, count - 1)

    def texts(
        self, rng: np.random.Generator, lengths: Sequence[int], heads: Sequence[list[str]]
    ) -> list[str]:
        """One text for each length, which begins with its head (or with anything, where that is empty).

        Raises LoadgenError when the tokenizer does not let a length be met.
        """
        made: list[str] = []
        for start in range(0, len(lengths), ENCODE_BATCH):
            end = start + ENCODE_BATCH
            made.extend(self._exact(rng, lengths[start:end], heads[start:end]))
        return made

    def _exact(
        self, rng: np.random.Generator, lengths: Sequence[int], heads: Sequence[list[str]]
    ) -> list[str]:
        words = [self._first_guess(rng, n, head) for n, head in zip(lengths, heads, strict=True)]
        wrong = list(range(len(lengths)))
        for attempt in range(1, ADJUST_ROUNDS + 1):
            texts = [" ".join(words[i]) for i in wrong]
            encoded = self._tokenizer.encode_batch_fast(texts, add_special_tokens=self._special)
            surplus = {i: len(e.ids) - lengths[i] for i, e in zip(wrong, encoded, strict=True)}
            wrong = [i for i in wrong if surplus[i]]
            if not wrong:
                return [" ".join(row) for row in words]
            for i in wrong:
                if attempt % RESTART_ROUNDS == 0:
                    words[i] = self._first_guess(rng, lengths[i], heads[i])
                elif surplus[i] > 0:
                    # Cutting some more helps where the end is a word after which no other costs one token.
                    least = max(1, len(heads[i]))
                    del words[i][max(least, len(words[i]) - surplus[i] - (attempt - 1) % MOST_EXTRA_CUT) :]
                else:
                    words[i] += _pick(rng, self._words, (1 - surplus[i]) // 2)
        raise LoadgenError(f"the tokenizer does not let a text of exactly {lengths[wrong[0]]} tokens be made")

    def _first_guess(self, rng: np.random.Generator, length: int, head: list[str]) -> list[str]:
        begun = head or _pick(rng, self._starters, 1)
        return begun + _pick(rng, self._words, max(0, length - self.shortest + 1 - len(begun)))


def _pick(rng: np.random.Generator, words: Sequence[str], count: int) -> list[str]:
    chosen: npt.NDArray[np.int64] = rng.integers(len(words), size=count)
    return [words[i] for i in chosen.tolist()]


def _one_token_words(tokenizer: AnyTokenizer) -> tuple[list[str], list[str]]:
    """Words of ASCII letters that add one token after "the ", and those that are one token by themselves."""
    added = set(tokenizer.get_added_tokens_decoder())
    ids = sorted(set(tokenizer.get_vocab(with_added_tokens=True).values()) - added)
    # A fixed order, apart from the point's seed: the same tokenizer always gives the same list of words.
    order = np.random.Generator(np.random.PCG64(0)).permutation(len(ids)).tolist()
    base = len(tokenizer.encode("the", add_special_tokens=False).ids)
    words: dict[str, None] = {}
    for start in range(0, len(order), CANDIDATES_A_ROUND):
        texts = [tokenizer.decode([ids[i]]).strip() for i in order[start : start + CANDIDATES_A_ROUND]]
        letters = [t for t in texts if t.isascii() and t.isalpha()]
        after = tokenizer.encode_batch_fast([f"the {t}" for t in letters], add_special_tokens=False)
        words.update((t, None) for t, e in zip(letters, after, strict=True) if len(e.ids) == base + 1)
        if len(words) >= ENOUGH_WORDS:
            break
    found = list(words)[:ENOUGH_WORDS]
    if not found:
        raise LoadgenError("the tokenizer has no word of one token, so exact prompts cannot be made from it")
    alone = tokenizer.encode_batch_fast(found, add_special_tokens=False)
    return found, [w for w, e in zip(found, alone, strict=True) if len(e.ids) == 1] or found
