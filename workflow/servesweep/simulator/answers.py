"""The bytes of answers: chunks of a stream, the body of an unstreamed answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from servesweep.simulator.generation import FinishReason, Generation
from servesweep.simulator.request_body import Endpoint

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """How one request's answer is written: everything that does not change from token to token."""

    endpoint: Endpoint
    id: str
    created: int
    model: str
    include_usage: bool = False

    def token(self, text: str, first: bool, finish_reason: FinishReason | None) -> bytes:
        """Give the event that carries one token; the last one also says why the answer ends."""
        choice: dict[str, Any]
        if self.endpoint == "chat":
            delta = {"role": "assistant", "content": text} if first else {"content": text}
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        else:
            choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish_reason}
        return self._event([choice], usage=None)

    def middle_token(self) -> tuple[bytes, bytes]:
        """Give what stands before and after the text in every event that is neither first nor last.

        Joining three byte strings per token is what keeps a thousand streams on time.
        """
        before, after = self.token("@", first=False, finish_reason=None).rsplit(b"@", 1)
        return before, after

    def final_usage(self, generation: Generation) -> bytes:
        """Give the event that holds the usage and no token."""
        return self._event([], usage=generation.usage())

    def whole(
        self,
        text: str,
        generation: Generation,
        kv_transfer_params: dict[str, Any] | None,
        logprobs: dict[str, Any] | None = None,
    ) -> bytes:
        """Give the body of an unstreamed answer."""
        choice: dict[str, Any] = {"index": 0, "logprobs": logprobs, "finish_reason": generation.finish_reason}
        if self.endpoint == "chat":
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        body = self._head("chat.completion") | {"choices": [choice], "usage": generation.usage()}
        if kv_transfer_params is not None:
            body["kv_transfer_params"] = kv_transfer_params
        return json.dumps(body).encode()

    def _event(self, choices: list[dict[str, Any]], usage: dict[str, int] | None) -> bytes:
        body = self._head("chat.completion.chunk") | {"choices": choices}
        if self.include_usage:
            body["usage"] = usage
        return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"

    def _head(self, chat_object: str) -> dict[str, Any]:
        kind = chat_object if self.endpoint == "chat" else "text_completion"
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def token_text(words: Sequence[str], token: int) -> str:
    """Give the text of token number `token`; its space makes words out of concatenated tokens."""
    word = words[token % len(words)]
    return word if token == 0 else f" {word}"


def whole_text(words: Sequence[str], tokens: int) -> str:
    """Give the text of an answer of so many tokens."""
    return "".join(token_text(words, token) for token in range(tokens))
