from __future__ import annotations

import json
from typing import Any

import pytest

from servesweep.loadgen.client import outcome
from servesweep.loadgen.sse import EventStream


def completion(text: str, **more: Any) -> dict[str, Any]:
    return {
        "id": "1",
        "model": "llama",
        "choices": [{"index": 0, "text": text, "finish_reason": None}],
        **more,
    }


def chat(**delta: Any) -> dict[str, Any]:
    return {"id": "1", "model": "llama", "choices": [{"index": 0, "delta": delta}], "usage": None}


USAGE = {"model": "llama", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}


def encode(*payloads: dict[str, Any], end: bytes = b"data: [DONE]\n\n", compact: bool = True) -> bytes:
    separators = (",", ":") if compact else (", ", ": ")
    events = [b"data: " + json.dumps(p, separators=separators).encode() + b"\n\n" for p in payloads]
    return b"".join(events) + end


def read(*parts: bytes) -> EventStream:
    """Feed the parts at the clocks 0, 1, 2 …"""
    stream = EventStream()
    for clock, part in enumerate(parts):
        stream.feed(part, float(clock))
    stream.close()
    return stream


def seen(stream: EventStream) -> tuple[Any, ...]:
    return (len(stream.arrivals), stream.model, stream.usage_input, stream.usage_output, outcome(stream))


STREAMS = {
    "completions": encode(completion("a"), completion("b"), completion('" \\"text\\":\\"'), USAGE),
    "with spaces after colons": encode(
        completion("a"), completion("b"), completion("ü"), USAGE, compact=False
    ),
    "chat": encode(
        chat(role="assistant", content=""), chat(content="a"), chat(content="b"), chat(content="c"), USAGE
    ),
    "CRLF": encode(completion("a"), completion("b"), completion("c"), USAGE).replace(b"\n", b"\r\n"),
    "comments and event names": b": ping\n\nevent: message\n"
    + encode(completion("a"), completion("b"), completion("c"), USAGE).replace(
        b"\n\n", b"\n\n: keep-alive\n\n"
    ),
    "no space after data": encode(completion("a"), completion("b"), completion("c"), USAGE).replace(
        b"data: ", b"data:"
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_cut_at_any_byte_changes_nothing(name: str) -> None:
    raw = STREAMS[name]
    expected = (3, "llama", 7, 3, ("ok", ""))
    assert seen(read(raw)) == expected
    for at in range(1, len(raw)):
        assert seen(read(raw[:at], raw[at:])) == expected, at
    assert seen(read(*(raw[i : i + 1] for i in range(len(raw))))) == expected


def test_each_chunk_has_the_clock_of_the_read_that_completed_it() -> None:
    first, second = encode(completion("a"), end=b""), encode(completion("b"), completion("c"), end=b"")
    stream = read(first, second[:10], second[10:], b"data: [DONE]\n\n")
    assert list(stream.arrivals) == [0.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("payload", "chunks"),
    [
        (completion(""), 0),
        (chat(role="assistant"), 0),
        (chat(content=None), 0),
        (chat(reasoning_content="hm"), 1),
        (chat(reasoning="hm"), 1),
        (chat(tool_calls=[{"function": {"arguments": "{"}}]), 1),
        ({"model": "llama", "choices": []}, 0),
        (completion("x", usage={"prompt_tokens": 1, "completion_tokens": 1}), 1),
    ],
)
def test_only_content_counts(payload: dict[str, Any], chunks: int) -> None:
    assert len(read(encode(payload)).arrivals) == chunks
    # The same after plain chunks, when events are no longer parsed one by one.
    for plain in (completion("a"), chat(content="a")):
        assert len(read(encode(plain, plain, payload)).arrivals) == 2 + chunks


def test_usage_with_each_chunk_keeps_the_last() -> None:
    counts = [completion("a", usage={"prompt_tokens": 5, "completion_tokens": n}) for n in (1, 2, 4)]
    stream = read(encode(*counts))
    assert (stream.usage_input, stream.usage_output, len(stream.arrivals)) == (5, 4, 3)


@pytest.mark.parametrize(
    ("raw", "status", "detail"),
    [
        (
            encode(completion("a"), {"error": {"message": "out of memory"}}),
            "error in stream",
            "out of memory",
        ),
        (encode(completion("a"), completion("b"), {"error": "bad"}), "error in stream", "bad"),
        (encode({"object": "error", "message": "no such model"}), "error in stream", "no such model"),
        (b"event: error\n: worker gone\n\n" + encode(completion("a")), "error in stream", "worker gone"),
        (encode(completion("a")) + b"data: {broken\n\n", "error in stream", "not a JSON object: {broken"),
        (encode(completion("a"), end=b""), "stream ended early", "no [DONE] after 1 chunks"),
        (encode(completion("a"), end=b'data: {"choices'), "stream ended early", "no [DONE] after 1 chunks"),
        (encode(completion("")), "empty answer", "usage says None output tokens"),
        (encode(), "empty answer", "usage says None output tokens"),
        (b'{"choices": []}', "not an event stream", '{"choices": []}'),
        (b"", "not an event stream", ""),
    ],
)
def test_what_is_not_a_full_answer_has_a_category(raw: bytes, status: str, detail: str) -> None:
    assert outcome(read(raw)) == (status, detail)


def test_an_answer_whose_usage_says_zero_is_empty() -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 0}}
    assert outcome(read(encode(completion("a"), usage)))[0] == "empty answer"


def test_done_without_its_empty_line_is_accepted() -> None:
    assert outcome(read(encode(completion("a"), end=b"data: [DONE]\n"))) == ("ok", "")


def test_what_comes_behind_done_is_no_part_of_the_answer() -> None:
    stream = EventStream()
    stream.feed(encode(completion("a"), completion("b"), completion("c")) + b"data: [DONE]\n\n", 1.0)
    before = (list(stream.arrivals), stream.usage_output, stream.error)
    stream.feed(encode(completion("late"), completion("later")), 9.0)
    assert (list(stream.arrivals), stream.usage_output, stream.error) == before
    assert stream.done


@pytest.mark.parametrize("count", [10**30, 2**31, -1, True, 8.0, "8", None])
def test_a_usage_that_is_no_number_of_tokens_counts_nothing(count: object) -> None:
    stream = EventStream()
    usage = {"choices": [], "usage": {"prompt_tokens": count, "completion_tokens": count}}
    stream.feed(encode(completion("a"), usage), 1.0)
    assert (stream.usage_input, stream.usage_output) == (None, None)
