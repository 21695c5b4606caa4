"""Log-probabilities of a prompt's tokens, which accuracy benchmarks of choices ask for. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

_BEST = -0.125
"""What the likeliest token of each place has; no other reaches it."""


def echoed(prompt: Sequence[int], answered: Sequence[str]) -> dict[str, Any]:
    """Give the `logprobs` of a completion with `echo`: one entry for each token of prompt and answer.

    The form is that of OpenAI's completions, where the first token has none. The numbers are made up: the
    same token after the same one always has the same, between -8 and -1.
    """
    likely: list[float | None] = [None]
    for before, token in pairwise(prompt):
        likely.append(-1.0 - zlib.crc32(b"%d %d" % (before, token)) % 700 / 100)
    likely += [_BEST] * len(answered)
    tokens = [*(f"token_id:{token}" for token in prompt), *answered]
    # "the" stands for the token that would have been likeliest.
    top = [
        None if own is None else {"the": _BEST, token: own} for token, own in zip(tokens, likely, strict=True)
    ]
    return {"tokens": tokens, "token_logprobs": likely, "top_logprobs": top, "text_offset": [0] * len(tokens)}
