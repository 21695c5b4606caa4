"""When each token of a request is due: pure arithmetic, no clock.

With `b` requests running at the moment this one is admitted (itself included) and `p` prompt tokens:

    TTFT   = ttft_ms / 1000 + p / prefill_tokens_per_s
    ITL    = (itl_ms + itl_slope_ms * (b - 1)) / 1000
    due(k) = admission + TTFT + k * ITL           for token k = 0, 1, ...

`b` is read once, so the whole timetable of a request is known when it starts and never drifts.
A decode worker that gets a finished prompt from a prefill worker (vLLM's protocol, one after the other) has
TTFT = ITL: the prefill worker was charged already. Where both workers get the request at once (SGLang's
protocol) the decode worker's TTFT is the full one, because the KV cache cannot arrive before the prefill is
over.
"""

from __future__ import annotations

from dataclasses import dataclass

from servesweep.simulator.options import SimulatorOptions


@dataclass(frozen=True, slots=True)
class Timetable:
    """Due times of one request's tokens, in seconds of the clock that `admission` was read from."""

    admission: float
    ttft: float
    itl: float

    def due(self, token: int) -> float:
        """Give the time at which token number `token` (from 0) is due."""
        return self.admission + self.ttft + token * self.itl

    def header(self) -> str:
        """Write the three numbers for the `Simulator-Timetable` header of a stream.

        On one machine a client's `time.perf_counter()` reads the same clock, so the header lets it compare
        the moment it saw each token with the moment that token was due.
        """
        return f"admission={self.admission:.6f}, ttft={self.ttft:.6f}, itl={self.itl:.6f}"


def timetable(
    options: SimulatorOptions, admission: float, prompt_tokens: int, running: int, prefilled: bool
) -> Timetable:
    """Fix the timetable of a request that is admitted now as one of `running` requests."""
    itl = (options.itl_ms + options.itl_slope_ms * (running - 1)) / 1000
    if prefilled:
        return Timetable(admission, ttft=itl, itl=itl)
    prefill = prompt_tokens / options.prefill_tokens_per_s if options.prefill_tokens_per_s else 0.0
    return Timetable(admission, ttft=options.ttft_ms / 1000 + prefill, itl=itl)
