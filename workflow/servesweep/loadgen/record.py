"""What is known of one request after it has ended."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

OK = "ok"


def _no_arrivals() -> array[float]:
    return array("d")


@dataclass(slots=True)
class RequestRecord:
    """One request; clocks are `time.perf_counter` seconds, which all processes of a machine share.

    `status` is "ok" or the category of the failure, `detail` an excerpt of what the server said.
    """

    index: int
    sent: float
    ended: float
    asked_input: int
    asked_output: int
    status: str = OK
    detail: str = ""
    model: str = ""
    usage_input: int | None = None
    usage_output: int | None = None
    arrivals: array[float] = field(default_factory=_no_arrivals)

    @property
    def ok(self) -> bool:
        """Whether the request was answered in full."""
        return self.status == OK

    @property
    def input_tokens(self) -> int:
        """Prompt tokens as the server counted them, else as asked."""
        return self.asked_input if self.usage_input is None else self.usage_input

    @property
    def output_tokens(self) -> int:
        """Output tokens as the server counted them, else the chunks that held content."""
        return len(self.arrivals) if self.usage_output is None else self.usage_output

    @property
    def ttft_s(self) -> float:
        """Time from sending to the first content, seconds."""
        return self.arrivals[0] - self.sent

    @property
    def e2el_s(self) -> float:
        """Time from sending to the last content, seconds."""
        return self.arrivals[-1] - self.sent

    @property
    def tpot_s(self) -> float | None:
        """(E2E latency - TTFT) / (output tokens - 1), seconds; None for a single token."""
        if self.output_tokens < 2:
            return None
        return (self.arrivals[-1] - self.arrivals[0]) / (self.output_tokens - 1)

    @property
    def itl_s(self) -> list[float]:
        """Gaps between consecutive content chunks, seconds."""
        return [b - a for a, b in zip(self.arrivals, self.arrivals[1:], strict=False)]
