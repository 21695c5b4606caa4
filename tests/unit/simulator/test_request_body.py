"""Request bodies: what is understood, what is refused and with which status."""

import json
from typing import Any

import pytest

from servesweep.simulator.request_body import (
    Endpoint,
    GenerationRequest,
    RequestRefusedError,
    parse_request,
)


def parsed(endpoint: Endpoint, **body: Any) -> GenerationRequest:
    return parse_request(endpoint, json.dumps({"model": "tiny"} | body).encode(), "tiny")


def refusal(endpoint: Endpoint, raw: bytes) -> RequestRefusedError:
    with pytest.raises(RequestRefusedError) as refused:
        parse_request(endpoint, raw, "tiny")
    return refused.value


USER = [{"role": "user", "content": "hello there"}]


def test_a_completion_prompt_is_a_text_or_token_ids() -> None:
    assert parsed("completion", prompt="one two").prompt_parts() == ["one two"]
    assert parsed("completion", prompt=[5, 6, 7]).prompt_parts() == [5, 6, 7]
    assert parsed("completion", prompt=[[5, 6, 7]]).prompt_parts() == [5, 6, 7]
    assert parsed("completion", prompt=["one two"]).prompt_parts() == ["one two"]


def test_a_chat_prompt_is_the_text_of_its_messages() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": parts},
        {"role": "assistant"},
    ]
    assert parsed("chat", messages=messages).prompt_parts() == ["be brief", "a\nb", ""]


def test_the_newer_name_of_max_tokens_wins() -> None:
    assert parsed("chat", messages=USER).most_tokens == 16
    assert parsed("chat", messages=USER, max_tokens=7).most_tokens == 7
    assert parsed("chat", messages=USER, max_tokens=7, max_completion_tokens=9).most_tokens == 9


def test_usage_in_a_stream_is_asked_for() -> None:
    assert not parsed("completion", prompt="a", stream=True).include_usage
    assert parsed("completion", prompt="a", stream_options={"include_usage": True}).include_usage


def test_sampling_parameters_are_ignored() -> None:
    assert parsed("completion", prompt="a", temperature=0, top_p=0.9, stop=["x"]).most_tokens == 16


@pytest.mark.parametrize(
    ("endpoint", "body", "told"),
    [
        ("completion", {}, "prompt: Field required"),
        ("completion", {"prompt": []}, "prompt"),
        ("completion", {"prompt": ["two", "prompts"]}, "prompt"),
        ("completion", {"prompt": "a", "max_tokens": 0}, "max_tokens: Input should be greater"),
        ("completion", {"prompt": "a", "max_tokens": "ten"}, "max_tokens: Input should be a valid integer"),
        ("completion", {"prompt": "a", "n": 2}, "n: Input should be 1"),
        ("completion", {"prompt": "a", "min_tokens": 17}, "min_tokens 17 is more than max_tokens 16."),
        ("chat", {}, "messages: Field required"),
        ("chat", {"messages": []}, "messages"),
        ("chat", {"messages": [{"role": "user", "content": 5}]}, "messages.0.content"),
    ],
)
def test_a_malformed_request_is_a_400(endpoint: Endpoint, body: dict[str, Any], told: str) -> None:
    refused = refusal(endpoint, json.dumps({"model": "tiny"} | body).encode())
    assert refused.status == 400
    assert refused.message.startswith(told)


def test_malformed_json_is_a_400() -> None:
    refused = refusal("chat", b'{"model": "tiny", ')
    assert (refused.status, "Invalid JSON" in refused.message) == (400, True)


def test_another_model_is_a_404_with_the_error_body_of_openai() -> None:
    refused = refusal("completion", b'{"model": "huge", "prompt": "a"}')
    assert refused.status == 404
    assert refused.body() == {
        "error": {
            "message": "The model `huge` does not exist.",
            "type": "NotFoundError",
            "param": "model",
            "code": 404,
        }
    }
