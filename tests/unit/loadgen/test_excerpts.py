"""A long answer is told by its beginning, and `…` marks the cut: half a word is not taken for a whole one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from servesweep.loadgen import aiperf
from servesweep.loadgen.client import Refusal, outcome
from servesweep.loadgen.excerpt import excerpt
from servesweep.loadgen.sse import EventStream


def refused(text: str) -> str:
    refusal = Refusal()
    for letter in text:
        refusal.feed(letter.encode(), 0.0)
    return refusal.text


def streamed(data: str) -> str:
    stream = EventStream()
    stream.feed(data.encode(), 0.0)
    stream.close()
    return outcome(stream)[1]


CUTS: dict[str, Callable[[str], str]] = {
    "an answer that is refused": refused,
    "an error within a stream": lambda text: streamed(f"data: {json.dumps({'error': text})}\n\n"),
    "no stream": streamed,
    "an error of aiperf": lambda text: aiperf._message({"error_details": {"message": text}}),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("letter", ["x", "é", "𝄞"])
def test_a_long_answer_is_cut_and_marked_there(cut: str, letter: str) -> None:
    assert CUTS[cut](letter * 200) == letter * 200
    assert CUTS[cut](letter * 201) == letter * 199 + "…"


def test_what_is_no_json_is_told_with_the_reason_in_front() -> None:
    assert streamed("data: nothing\n\n") == "not a JSON object: nothing"
    assert streamed(f"data: {'x' * 300}\n\n") == excerpt(f"not a JSON object: {'x' * 300}")


def test_no_more_of_an_answer_is_kept_than_is_told() -> None:
    refusal: Any = Refusal()
    for _ in range(10_000):
        refusal.feed(b"x" * 100, 0.0)
    assert len(refusal._bytes) < 1000
