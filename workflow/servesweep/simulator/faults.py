"""Faults a simulator can be told to have, written `KIND[:ARG[:ARG]]` on the command line."""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Iterable
from math import floor
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class CrashAfter(BaseModel):
    """The process ends hard once so many requests were answered completely."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    requests: int = Field(ge=1, description="completed requests before the crash")
    exit_code: int = Field(default=1, ge=0, le=255, description="exit code of the process")


class HangAfter(BaseModel):
    """Once so many requests were answered completely, every other one stops in its middle and stays open."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    requests: int = Field(ge=0, description="completed requests before the hang")
    tokens: int | None = Field(
        default=None,
        ge=0,
        description="tokens a hanging stream still gets; half of its tokens when not given",
    )

    def tokens_before_hang(self, completed_requests: int, output_tokens: int) -> int | None:
        """Say how many tokens a request gets before it hangs, or None while nothing hangs yet."""
        if completed_requests < self.requests:
            return None
        return min(output_tokens // 2 if self.tokens is None else self.tokens, output_tokens)


class WrongModelAfter(BaseModel):
    """Once so many requests were answered completely, answers name another model; `/v1/models` does not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    requests: int = Field(ge=0, description="completed requests before the change")
    name: str = Field(min_length=1, description="model name in later answers")


class Faults(BaseModel):
    """Everything that is made to go wrong; the default is a healthy server."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    slow_start_s: float = Field(default=0.0, ge=0, description="seconds added to the start-up time")
    never_healthy: bool = Field(default=False, description="the start-up never ends")
    crash_at_start: int | None = Field(default=None, ge=0, le=255, description="exit code, before listening")
    crash_after: CrashAfter | None = Field(default=None, description="hard exit after some requests")
    error_fraction: float = Field(default=0.0, ge=0, le=1, description="share of requests answered with 500")
    empty: bool = Field(default=False, description="answers are 200 and hold no token")
    empty_after: int | None = Field(
        default=None, ge=0, description="completed requests after which answers hold no token"
    )
    wrong_model_after: WrongModelAfter | None = Field(
        default=None, description="answers name another model after some requests"
    )
    wrong_model: str | None = Field(
        default=None, min_length=1, description="name told instead of the real one"
    )
    hang_after: HangAfter | None = Field(default=None, description="streams stop in their middle")
    fatal_log: str | None = Field(default=None, min_length=1, description="line printed to stderr at start")

    def answers_nothing(self, completed_requests: int) -> bool:
        """Say whether the next answer holds no token."""
        return self.empty or (self.empty_after is not None and completed_requests >= self.empty_after)

    def answering_model(self, completed_requests: int) -> str | None:
        """The wrong model name that the next answer tells; None for the real one."""
        late = self.wrong_model_after
        if late is not None and completed_requests >= late.requests:
            return late.name
        return self.wrong_model

    def refuses(self, ordinal: int, seed: int) -> bool:
        """Say whether request number `ordinal` (from 0) is one that `errors:FRACTION` answers with 500.

        The failures are spread evenly: among any n consecutive requests n*FRACTION fail, rounded up or down.
        The seed moves the pattern.
        """
        phase = random.Random(seed).random()
        done, with_this_one = ordinal * self.error_fraction, (ordinal + 1) * self.error_fraction
        return floor(phase + with_this_one) > floor(phase + done)


def _no_argument(key: str) -> Callable[[list[str]], dict[str, Any]]:
    def read(arguments: list[str]) -> dict[str, Any]:
        if arguments:
            raise ValueError("takes no argument")
        return {key: True}

    return read


def _one(
    key: str, number: Callable[[str], Any], default: Any = None
) -> Callable[[list[str]], dict[str, Any]]:
    def read(arguments: list[str]) -> dict[str, Any]:
        if len(arguments) > 1 or (not arguments and default is None):
            raise ValueError("takes exactly one argument")
        return {key: number(arguments[0]) if arguments else default}

    return read


def _text(key: str) -> Callable[[list[str]], dict[str, Any]]:
    def read(arguments: list[str]) -> dict[str, Any]:
        if not arguments:
            raise ValueError("needs a text after the colon")
        return {key: ":".join(arguments)}  # a log line or a model name may hold colons itself

    return read


def _numbers(key: str, *names: str) -> Callable[[list[str]], dict[str, Any]]:
    def read(arguments: list[str]) -> dict[str, Any]:
        if not 1 <= len(arguments) <= len(names):
            raise ValueError("takes one or two numbers")
        return {key: dict(zip(names, map(int, arguments), strict=False))}

    return read


def _count_and_text(key: str) -> Callable[[list[str]], dict[str, Any]]:
    def read(arguments: list[str]) -> dict[str, Any]:
        if len(arguments) < 2:
            raise ValueError("takes a number and a name")
        return {key: {"requests": int(arguments[0]), "name": ":".join(arguments[1:])}}

    return read


_KINDS: dict[str, tuple[str, Callable[[list[str]], dict[str, Any]]]] = {
    "slow-start": ("slow-start:SECONDS", _one("slow_start_s", float)),
    "never-healthy": ("never-healthy", _no_argument("never_healthy")),
    "crash-at-start": ("crash-at-start[:EXITCODE]", _one("crash_at_start", int, default=1)),
    "crash-after": ("crash-after:N[:EXITCODE]", _numbers("crash_after", "requests", "exit_code")),
    "errors": ("errors:FRACTION", _one("error_fraction", float)),
    "empty": ("empty", _no_argument("empty")),
    "empty-after": ("empty-after:N", _one("empty_after", int)),
    "wrong-model": ("wrong-model:NAME", _text("wrong_model")),
    "wrong-model-after": ("wrong-model-after:N:NAME", _count_and_text("wrong_model_after")),
    "hang-after": ("hang-after:N[:TOKENS]", _numbers("hang_after", "requests", "tokens")),
    "fatal-log": ("fatal-log:TEXT", _text("fatal_log")),
}

FAULT_FORMS: tuple[str, ...] = tuple(form for form, _ in _KINDS.values())


def parse_faults(texts: Iterable[str]) -> Faults:
    """Read the values of all `--fault` options.

    Raises ValueError with one sentence for an unknown kind, a wrong argument, or a kind given twice.
    """
    fields: dict[str, Any] = {}
    for text in texts:
        kind, *arguments = text.split(":")
        if kind not in _KINDS:
            near = difflib.get_close_matches(kind, _KINDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(FAULT_FORMS)}."
            raise ValueError(f"fault {text!r}: there is no kind {kind!r}; {hint}")
        form, read = _KINDS[kind]
        try:
            found = read(arguments)
            Faults.model_validate(found)
        except ValueError as error:
            raise ValueError(f"fault {text!r}: write it as {form} ({_reason(error)}).") from error
        if fields.keys() & found.keys():
            raise ValueError(f"fault {text!r}: {kind} is given twice.")
        fields |= found
    return Faults.model_validate(fields)


def _reason(error: ValueError) -> str:
    """Give the first line a person can use out of a ValueError, also of pydantic's."""
    details = getattr(error, "errors", None)
    return str(details()[0]["msg"]) if callable(details) else str(error)
