"""Random prompts of an exact length, the same for the same seed however many processes send them."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from servesweep.loadgen.errors import LoadgenError
from servesweep.loadgen.job import Phase
from servesweep.loadgen.spec import LoadSpec

ENOUGH_WORDS = 4096
CANDIDATES_A_ROUND = 8192
ADJUST_ROUNDS = 120
RESTART_ROUNDS = 20
MOST_EXTRA_CUT = 6
ENCODE_BATCH = 64


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request's text, its length in tokens (words without a tokenizer) and the asked output length."""

    text: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """The prompts of one phase and the arrival time of each, in seconds after the phase starts."""

    prompts: list[Prompt]
    arrivals_s: list[float]


def generator(spec: LoadSpec, phase: Phase, purpose: str) -> np.random.Generator:
    """Random stream of one purpose of one phase of one point, from seed, point and repeat alone.

    The point's name is part of it: two points never share a prompt, so that one point cannot warm the
    prefix cache for the next, while the same point of two configurations gets the same prompts.
    """
    names = [zlib.crc32(name.encode()) for name in (spec.point, phase, purpose)]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([spec.seed, spec.repeat, *names])))


def draw_lengths(rng: np.random.Generator, longest: int, ratio: float, count: int) -> list[int]:
    """`count` lengths uniform over the whole numbers from int(ratio * longest), at least 1, to `longest`."""
    shortest = max(1, int(longest * ratio))
    return [int(n) for n in rng.integers(shortest, longest, size=count, endpoint=True)]


def draw_arrivals(rng: np.random.Generator, rate: float, count: int) -> list[float]:
    """Arrival times in seconds of a Poisson process (exponential gaps), the first at 0; all 0 for inf."""
    if math.isinf(rate):
        return [0.0] * count
    gaps = rng.exponential(1.0 / rate, size=count)
    gaps[0] = 0.0
    return [float(t) for t in np.cumsum(gaps)]


def build_schedule(spec: LoadSpec, phase: Phase) -> Schedule:
    """Make every prompt and arrival time of one phase; raises LoadgenError for an unusable tokenizer."""
    count = spec.num_prompts if phase == "measure" else spec.num_warmup
    if count == 0:
        return Schedule([], [])
    inputs = draw_lengths(generator(spec, phase, "input"), spec.isl, spec.random_range_ratio, count)
    outputs = draw_lengths(generator(spec, phase, "output"), spec.osl, spec.random_range_ratio, count)
    rng = generator(spec, phase, "words")
    if spec.tokenizer is None:
        texts = [" ".join(_pick(rng, pseudo_words(), n)) for n in inputs]
    else:
        source = TokenSource(load_tokenizer(spec.tokenizer), special=spec.api == "completions")
        inputs = [max(n, source.shortest) for n in inputs]
        texts = source.texts(rng, inputs)
    rate = spec.request_rate if phase == "measure" else spec.warmup_request_rate
    arrivals = draw_arrivals(generator(spec, phase, "arrivals"), rate, count)
    return Schedule([Prompt(*row) for row in zip(texts, inputs, outputs, strict=True)], arrivals)


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


def pseudo_words() -> list[str]:
    """The 4,900 two-syllable words (baba … zuzu) used when there is no tokenizer."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    return [first + second for first, second in itertools.product(syllables, syllables)]


class TokenSource:
    """Makes texts with an exact number of tokens from words that cost one token after a space.

    The text is checked by encoding it again as the server will: with the special tokens (such as BOS) that
    the tokenizer adds for the completions api, without them for chat, where the template has its own.
    """

    def __init__(self, tokenizer: Tokenizer, *, special: bool) -> None:
        self._tokenizer = tokenizer
        self._special = special
        self._words, self._starters = _one_token_words(tokenizer)
        self.shortest = 1 + (tokenizer.num_special_tokens_to_add(False) if special else 0)

    def texts(self, rng: np.random.Generator, lengths: Sequence[int]) -> list[str]:
        """One text for each length; raises LoadgenError when the tokenizer does not let a length be met."""
        made: list[str] = []
        for start in range(0, len(lengths), ENCODE_BATCH):
            made.extend(self._exact(rng, lengths[start : start + ENCODE_BATCH]))
        return made

    def _exact(self, rng: np.random.Generator, lengths: Sequence[int]) -> list[str]:
        words = [self._first_guess(rng, n) for n in lengths]
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
                    words[i] = self._first_guess(rng, lengths[i])
                elif surplus[i] > 0:
                    # Cutting some more helps where the end is a word after which no other costs one token.
                    del words[i][max(1, len(words[i]) - surplus[i] - (attempt - 1) % MOST_EXTRA_CUT) :]
                else:
                    words[i] += _pick(rng, self._words, (1 - surplus[i]) // 2)
        raise LoadgenError(f"the tokenizer does not let a text of exactly {lengths[wrong[0]]} tokens be made")

    def _first_guess(self, rng: np.random.Generator, length: int) -> list[str]:
        return _pick(rng, self._starters, 1) + _pick(rng, self._words, length - self.shortest)


def _pick(rng: np.random.Generator, words: Sequence[str], count: int) -> list[str]:
    chosen: npt.NDArray[np.int64] = rng.integers(len(words), size=count)
    return [words[i] for i in chosen.tolist()]


def _one_token_words(tokenizer: Tokenizer) -> tuple[list[str], list[str]]:
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
