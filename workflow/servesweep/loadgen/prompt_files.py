"""Reads a user's file of prompts: ShareGPT's conversations or one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servesweep.loadgen.errors import LoadgenError

OUTPUT_KEYS = ("output_tokens", "output_len", "max_tokens")
TEXT_KEYS = ("value", "content")
USERS = frozenset({"human", "user"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One prompt: a text, or the messages of a chat; how long its answer is, where the file says so."""

    text: str
    messages: tuple[dict[str, Any], ...] = ()
    output_tokens: int | None = None
    answer: str = ""
    """The file's own answer, whose length stands for the output's."""


def read_entries(path: Path) -> list[Entry]:
    """Read a `.json` array or JSON lines; raises LoadgenError with file and line for anything unreadable.

    An object has `prompt` (a text), `messages` (roles and contents) or `conversations` (ShareGPT: the first
    question is the prompt, the turn after it its answer); `output_tokens` says how long the answer is.
    """
    entries = [entry for place, item in _objects(path) if (entry := _entry(place, item)) is not None]
    if not entries:
        raise LoadgenError(f"{path} holds no prompt")
    return entries


def _objects(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LoadgenError(f"cannot read the prompts {path}: {error}") from error
    if text.lstrip().startswith("["):
        try:
            items = json.loads(text)
        except ValueError as error:
            raise LoadgenError(f"{path} is not JSON: {error}") from error
        yield from ((f"{path}, entry {number}", item) for number, item in enumerate(items, 1))
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield f"{path}:{number}", json.loads(line)
            except ValueError as error:
                raise LoadgenError(f"{path}:{number} is not JSON: {error}") from error


def _entry(place: str, item: Any) -> Entry | None:
    """The prompt of one object; None for a conversation without a question and an answer."""
    if not isinstance(item, dict):
        raise LoadgenError(f"{place}: expected an object")
    output = _output_tokens(place, item)
    if isinstance(prompt := item.get("prompt"), str) and prompt:
        return Entry(prompt, output_tokens=output, answer=str(item.get("completion") or ""))
    if isinstance(messages := item.get("messages"), list) and messages:
        if not all(isinstance(m, dict) and {"role", "content"} <= m.keys() for m in messages):
            raise LoadgenError(f"{place}: each of messages needs role and content")
        return Entry("", tuple(messages), output)
    if isinstance(turns := item.get("conversations"), list):
        return _conversation(turns, output)
    raise LoadgenError(f"{place}: expected prompt, messages or conversations")


def _output_tokens(place: str, item: dict[str, Any]) -> int | None:
    key = next((key for key in OUTPUT_KEYS if item.get(key) is not None), None)
    if key is None:
        return None
    value = item[key]
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise LoadgenError(f"{place}: {key} must be a whole number from 1, got {value!r}")
    return value


def _conversation(turns: list[Any], output: int | None) -> Entry | None:
    said = [
        (turn.get("from") or turn.get("role"), next((turn[k] for k in TEXT_KEYS if turn.get(k)), ""))
        for turn in turns
        if isinstance(turn, dict)
    ]
    first = next((at for at, (who, text) in enumerate(said) if who in USERS and text), None)
    if first is None:
        return None
    answer = said[first + 1][1] if first + 1 < len(said) else ""
    if not answer and output is None:
        return None
    return Entry(str(said[first][1]), output_tokens=output, answer=str(answer))
