"""Reads a server-sent event stream of an OpenAI-compatible server and stamps each content chunk.

Format: WHATWG HTML, section "Server-sent events"; the payloads are OpenAI (chat) completion chunks.
"""

from __future__ import annotations

import json
from array import array
from typing import Any

from servesweep.loadgen.excerpt import excerpt

# No answer has more tokens than this: such a count is none.
MOST_TOKENS = 2**31
_QUOTE = 0x22
_KEYS = (b"text", b"content", b"reasoning_content", b"reasoning")
_MARKERS = tuple(b'"' + key + colon for key in _KEYS for colon in (b'":"', b'": "'))


class EventStream:
    """Collects one answer; `feed` takes the bytes as they come, cut anywhere.

    Attributes: `arrivals` (clock of each chunk with content), `model` (first one named), `usage_input` and
    `usage_output` (the server's own counts, or None), `done` ([DONE] seen), `error` (first error event).
    """

    __slots__ = (
        "_carry",
        "_marker",
        "arrivals",
        "done",
        "error",
        "events",
        "model",
        "usage_input",
        "usage_output",
    )

    def __init__(self) -> None:
        self.arrivals: array[float] = array("d")
        self.model = ""
        self.usage_input: int | None = None
        self.usage_output: int | None = None
        self.done = False
        self.error: str | None = None
        self.events = 0
        self._carry = b""
        self._marker: bytes | None = None

    def feed(self, data: bytes, now: float) -> None:
        """Take the next bytes, which arrived at clock `now` (seconds)."""
        if self._carry:
            data = self._carry + data
        held = b""
        if b"\r" in data:
            if data.endswith(b"\r"):  # perhaps half of a CRLF
                data, held = data[:-1], b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        events = data.split(b"\n\n")
        self._carry = events.pop() + held
        marker = self._marker
        for event in events:
            # An unescaped quote never occurs inside a JSON string, so a marker found in the raw bytes is a
            # key of the object, never generated text: no need to parse what is plainly one content chunk.
            if marker is not None:
                at = event.find(marker)
                if (
                    at > 0
                    and event.startswith(b"data: {")
                    and event.endswith(b"}")
                    and event[at + len(marker)] != _QUOTE
                    and b"\n" not in event
                    and b'"error"' not in event
                    and (b'"usage"' not in event or b'"usage":null' in event)
                ):
                    self.arrivals.append(now)
                    continue
            self._event(event, now)
            marker = self._marker

    def close(self) -> None:
        """The body has ended: accept a last [DONE] that lacks its empty line; other rests are cut events."""
        if self._carry.strip() in (b"data: [DONE]", b"data:[DONE]"):
            self.done = True

    @property
    def rest(self) -> str:
        """Start of the bytes that never became an event, for error messages."""
        return excerpt(self._carry.decode(errors="replace"))

    def _event(self, event: bytes, now: float) -> None:
        name, data, comment = _fields(event)
        if name == b"error":
            self._fail((data or comment or b"no message").decode(errors="replace"))
        if not data:
            return
        self.events += 1
        if data.strip() == b"[DONE]":
            # The answer is complete: content behind it is none of it.
            self.done, self._marker = True, None
            return
        try:
            chunk = json.loads(data)
        except ValueError:
            chunk = None
        if not isinstance(chunk, dict):
            self._fail(f"not a JSON object: {data.decode(errors='replace')}")
            return
        self._chunk(chunk, event, now)

    def _chunk(self, chunk: dict[str, Any], event: bytes, now: float) -> None:
        if chunk.get("error") or chunk.get("object") == "error":
            self._fail(_message(chunk))
            return
        if not self.model and isinstance(chunk.get("model"), str):
            self.model = _writable(chunk["model"])
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self.usage_input = _count(usage.get("prompt_tokens"), self.usage_input)
            self.usage_output = _count(usage.get("completion_tokens"), self.usage_output)
        if not self.done and _has_content(chunk):
            self.arrivals.append(now)
            if self._marker is None and self.model:
                self._marker = next((m for m in _MARKERS if m in event), None)

    def _fail(self, message: str) -> None:
        if self.error is None:
            self.error = _writable(excerpt(message))


def _fields(event: bytes) -> tuple[bytes, bytes, bytes]:
    """Event name, joined data and joined comments of one event."""
    name, data, comments = b"", [], []
    for line in event.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
        elif not field and value:
            comments.append(value)
    return name, b"\n".join(data), b" ".join(comments)


def _has_content(chunk: dict[str, Any]) -> bool:
    """Whether a completion or chat chunk carries generated content (text, reasoning or a tool call)."""
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        if not isinstance(choice, dict):
            continue
        delta = choice.get("delta")
        inner = delta if isinstance(delta, dict) else {}
        keys = ("content", "reasoning_content", "reasoning", "tool_calls")
        if choice.get("text") or any(inner.get(key) for key in keys):
            return True
    return False


def _message(chunk: dict[str, Any]) -> str:
    error = chunk.get("error")
    if isinstance(error, dict):
        return str(error.get("message") or json.dumps(error))
    return str(error or chunk.get("message") or json.dumps(chunk))


def _count(value: object, before: int | None) -> int | None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MOST_TOKENS:
        return before
    return value


def _writable(text: str) -> str:
    """JSON can spell halves of characters, which no file can hold."""
    return text.encode(errors="replace").decode()
