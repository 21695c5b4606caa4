"""What is sent and when: the prompts of each phase, the same for a seed however many processes send them."""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from servesweep.loadgen.errors import LoadgenError
from servesweep.loadgen.job import Phase
from servesweep.loadgen.prompt_files import Entry, read_entries
from servesweep.loadgen.spec import LoadSpec
from servesweep.loadgen.tokenizer_class import AnyTokenizer, read_with_class
from servesweep.loadgen.words import TokenSource, WordSource, load_tokenizer


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request's text, its length in tokens (words without a tokenizer) and the asked output length."""

    text: str
    input_tokens: int
    output_tokens: int
    messages: tuple[dict[str, Any], ...] = ()
    """The prompt as a chat, where a file of prompts has one; `text` is then empty."""


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
    """Make every prompt and arrival time of one phase.

    Raises LoadgenError for an unusable tokenizer or file of prompts.
    """
    count = spec.num_prompts if phase == "measure" else spec.num_warmup
    if count == 0:
        return Schedule([], [])
    prompts = _of_file(spec, phase, count) if spec.dataset_path else _random(spec, phase, count)
    rate = spec.request_rate if phase == "measure" else spec.warmup_request_rate
    return Schedule(prompts, draw_arrivals(generator(spec, phase, "arrivals"), rate, count))


def _random(spec: LoadSpec, phase: Phase, count: int) -> list[Prompt]:
    assert spec.isl is not None  # the spec asks for both where there is no file
    assert spec.osl is not None
    inputs = draw_lengths(generator(spec, phase, "input"), spec.isl, spec.random_range_ratio, count)
    outputs = draw_lengths(generator(spec, phase, "output"), spec.osl, spec.random_range_ratio, count)
    source = WordSource() if spec.tokenizer is None else TokenSource(_tokenizer(spec), special=_special(spec))
    inputs = [max(n, source.shortest) for n in inputs]
    shared = int(spec.isl * spec.prefix_ratio)
    heads: list[list[str]] = [[]] * count
    if shared:
        rng = generator(spec, phase, "prefixes")
        beginnings = [source.words(rng, shared) for _ in range(spec.num_prefixes)]
        heads = [beginnings[i] for i in rng.integers(spec.num_prefixes, size=count).tolist()]
    texts = source.texts(generator(spec, phase, "words"), inputs, heads)
    return [Prompt(*row) for row in zip(texts, inputs, outputs, strict=True)]


def _of_file(spec: LoadSpec, phase: Phase, count: int) -> list[Prompt]:
    """Prompts of the file in a random order, from its beginning again where it is too short."""
    assert spec.dataset_path is not None
    entries = read_entries(spec.dataset_path)
    order = generator(spec, phase, "order").permutation(len(entries)).tolist()
    chosen = [entries[order[i % len(order)]] for i in range(count)]
    if spec.api == "completions" and any(entry.messages for entry in chosen):
        raise LoadgenError(f"{spec.dataset_path} holds chats, which the completions api does not take")
    salt = f"{generator(spec, phase, 'salt').integers(1 << 32):08x} " if spec.salt else ""
    tokenizer = _tokenizer(spec) if spec.tokenizer else None
    return [_prompt(spec, entry, salt, tokenizer) for entry in chosen]


def _prompt(spec: LoadSpec, entry: Entry, salt: str, tokenizer: AnyTokenizer | None) -> Prompt:
    output = spec.osl or entry.output_tokens or (entry.answer and _count(entry.answer, tokenizer))
    if not output:
        raise LoadgenError(f"{spec.dataset_path} does not say how long the outputs are: give osl")
    if not entry.messages:
        text = salt + entry.text
        return Prompt(text, _count(text, tokenizer, special=_special(spec)), output)
    first, *rest = entry.messages
    if isinstance(first["content"], str):
        first = {**first, "content": salt + first["content"]}
    messages = (first, *rest)
    told = "\n".join(str(message["content"]) for message in messages)
    return Prompt("", _count(told, tokenizer), output, messages)


def _count(text: str, tokenizer: AnyTokenizer | None, *, special: bool = False) -> int:
    if tokenizer is None:
        return len(text.split())
    return len(tokenizer.encode(text, add_special_tokens=special).ids)


def _tokenizer(spec: LoadSpec) -> AnyTokenizer:
    assert spec.tokenizer is not None
    if spec.tokenizer_class is not None:
        return read_with_class(spec.tokenizer_class, spec.tokenizer)
    return load_tokenizer(spec.tokenizer)


def _special(spec: LoadSpec) -> bool:
    """Whether the server adds special tokens (BOS): not for chat, where the template has its own."""
    return spec.api == "completions"


def identity(prompts: Sequence[Prompt]) -> tuple[str, int]:
    """SHA-256 over all prompts in their order, and how many different ones there are."""
    texts = [prompt.text or repr(prompt.messages) for prompt in prompts]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest(), len(set(texts))
