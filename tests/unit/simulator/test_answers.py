"""The bytes of an answer, as a client reads them."""

import json
from typing import Any

import pytest

from servesweep.simulator.answers import AnswerFormat, whole_text
from servesweep.simulator.engine import Counters, prometheus_text
from servesweep.simulator.generation import Generation
from servesweep.simulator.request_body import Endpoint
from servesweep.simulator.vocabulary import answer_words, made_up_words

GENERATION = Generation(prompt_tokens=4, output_tokens=2, finish_reason="length", prefilled=False)


def format_of(endpoint: Endpoint, **more: Any) -> AnswerFormat:
    return AnswerFormat(endpoint, id="r-1", created=1700000000, model="tiny", **more)


def event(raw: bytes) -> dict[str, Any]:
    assert raw.startswith(b"data: ")
    assert raw.endswith(b"\n\n")
    decoded: dict[str, Any] = json.loads(raw.removeprefix(b"data: "))
    return decoded


def test_a_completion_event() -> None:
    assert event(format_of("completion").token(" baba", first=False, finish_reason=None)) == {
        "id": "r-1",
        "object": "text_completion",
        "created": 1700000000,
        "model": "tiny",
        "choices": [{"index": 0, "text": " baba", "logprobs": None, "finish_reason": None}],
    }


def test_the_first_chat_event_names_the_role_and_the_last_one_the_reason() -> None:
    chat = format_of("chat")
    first = event(chat.token("baba", first=True, finish_reason=None))
    last = event(chat.token(" baba", first=False, finish_reason="length"))
    assert first["object"] == "chat.completion.chunk"
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": "baba"}
    assert (last["choices"][0]["delta"], last["choices"][0]["finish_reason"]) == (
        {"content": " baba"},
        "length",
    )


@pytest.mark.parametrize("endpoint", ["completion", "chat"])
@pytest.mark.parametrize("model", ["tiny", "@", 'odd"@"name'])
def test_a_middle_event_is_cut_at_its_text_only(endpoint: Endpoint, model: str) -> None:
    answer = AnswerFormat(endpoint, id="@", created=1, model=model, include_usage=True)
    before, after = answer.middle_token()
    assert before + b" baba" + after == answer.token(" baba", first=False, finish_reason=None)


def test_usage_is_null_until_the_last_event() -> None:
    answer = format_of("completion", include_usage=True)
    last = event(answer.final_usage(GENERATION))
    assert event(answer.token("a", first=True, finish_reason=None))["usage"] is None
    assert last["choices"] == []
    assert last["usage"] == {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}


def test_an_unstreamed_answer_holds_everything_at_once() -> None:
    body = json.loads(format_of("chat").whole("baba bebe", GENERATION, {"remote_engine_id": "e"}))
    assert body["object"] == "chat.completion"
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "baba bebe"}
    assert body["usage"]["completion_tokens"] == 2
    assert body["kv_transfer_params"] == {"remote_engine_id": "e"}
    assert "kv_transfer_params" not in json.loads(format_of("completion").whole("baba", GENERATION, None))


def test_an_answer_has_one_word_per_token_and_depends_on_the_seed() -> None:
    assert len(whole_text(answer_words(seed=0), 1000).split()) == 1000
    assert answer_words(seed=0) == answer_words(seed=0)
    assert answer_words(seed=0) != answer_words(seed=1)


def test_made_up_words_are_plain_and_all_different() -> None:
    words = made_up_words(10_000)
    assert words[:3] == ("baba", "babe", "babi")
    assert len(set(words)) == 10_000
    assert all(word.isascii() and word.isalpha() and word.islower() for word in words)


def test_metrics_are_in_the_text_format_of_prometheus() -> None:
    text = prometheus_text(Counters(requests_running=2, generation_tokens_total=128), 'a"b')
    assert (
        '# TYPE simulator_requests_running gauge\nsimulator_requests_running{model_name="a\\"b"} 2\n' in text
    )
    assert "# TYPE simulator_generation_tokens_total counter\n" in text
    assert text.endswith('simulator_generation_tokens_total{model_name="a\\"b"} 128\n')
