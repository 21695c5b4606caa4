"""Options that every benchmark type takes, and the readings of load levels."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from servesweep.recipe.limits import MOST_IN_FLIGHT, MOST_POINTS
from servesweep.recipe.problems import shown
from servesweep.recipe.section import Section


class SharedOptions(Section):
    """What a recipe may say whatever its type; read for compatibility where the type has no use for it."""

    aiperf_package: str | None = Field(default=None, description="Version of aiperf that a type installs.")
    aiperf_args: dict[str, Any] = Field(default_factory=dict, description="Further arguments of aiperf.")
    stream_output: bool | None = Field(default=None, description="Show the client's output as it comes.")


MANY_DIGITS = 100


# What only aiperf, which no client of this version is, has a use for.
OF_AIPERF = ("aiperf_package", "aiperf_args", "stream_output")


def _levels(value: Any) -> list[int]:
    """Read `4`, `"1x2x4"`, `[1, 2, 4]` or `["1", "2"]`."""
    words = value.split("x") if isinstance(value, str) else value if isinstance(value, list) else [value]
    if not words:
        raise ValueError("at least one concurrency is needed")
    levels = [_positive(word) for word in words]
    if None in levels:
        wrong = next(word for word, level in zip(words, levels, strict=True) if level is None)
        wrong = value if wrong == "" else wrong
        raise ValueError(
            f"expected whole numbers from 1, as a list or as text like 1x2x4, got {shown(wrong)}"
        )
    if (most := max(level for level in levels if level is not None)) > MOST_IN_FLIGHT:
        raise ValueError(f"at most {MOST_IN_FLIGHT} requests are in flight, got {shown(most)}")
    if len(levels) > MOST_POINTS:
        raise ValueError(f"a configuration has at most {MOST_POINTS} points, got {len(levels)} concurrencies")
    return [level for level in levels if level is not None]


def _positive(word: Any) -> int | None:
    if isinstance(word, bool):
        return None
    if isinstance(word, str):
        # Python reads no more digits than some thousands.
        word = int(word) if word.isascii() and word.strip().isdecimal() and len(word) < MANY_DIGITS else 0
    return word if isinstance(word, int) and word >= 1 else None


def _rates(value: Any) -> list[float]:
    """Read `inf`, `2.5`, `"2.5"` or a list of them."""
    rates = []
    for word in value if isinstance(value, list) else [value]:
        try:
            rate = math.nan if isinstance(word, bool) else float(word)
        except (TypeError, ValueError, OverflowError):
            rate = math.nan
        if not rate > 0:
            form = "one number or a list like [1, 2.5, inf]"
            raise ValueError(f"expected inf or requests per second above 0, {form}, got {shown(word)}")
        rates.append(rate)
    if not rates:
        raise ValueError("at least one request rate is needed")
    if len(rates) > MOST_POINTS:
        raise ValueError(f"a configuration has at most {MOST_POINTS} points, got {len(rates)} request rates")
    return rates


WRITTEN = {"type": ["string", "number"]}
ONE_OR_MORE = WithJsonSchema({"anyOf": [WRITTEN, {"type": "array", "items": WRITTEN, "minItems": 1}]})

Levels = Annotated[list[int], BeforeValidator(_levels), ONE_OR_MORE]
Rates = Annotated[list[float], BeforeValidator(_rates), ONE_OR_MORE]
