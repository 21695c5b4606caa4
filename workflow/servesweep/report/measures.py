"""The measured numbers that people read first: heading, unit, decimals, and how they are printed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """One column of the table as a column of a page."""

    key: str
    group: str
    heading: str
    decimals: int


THROUGHPUT = (
    Measure("request_throughput_per_s", "Throughput", "req/s", 2),
    Measure("output_throughput_tok_s", "Throughput", "out tok/s", 1),
    Measure("output_tok_s_per_gpu", "Throughput", "tok/s/GPU", 1),
    Measure("output_tok_s_per_user", "Throughput", "tok/s/user", 1),
)
COST = (Measure("cost_usd_per_million_output_tokens", "Cost", "$/M out tok", 2),)
TTFT = (
    Measure("p50_ttft_ms", "TTFT ms", "p50", 1),
    Measure("p99_ttft_ms", "TTFT ms", "p99", 1),
)
ITL = (
    Measure("p50_itl_ms", "ITL ms", "p50", 2),
    Measure("p99_itl_ms", "ITL ms", "p99", 2),
)
E2E = (
    Measure("p50_e2el_ms", "E2E ms", "p50", 0),
    Measure("p99_e2el_ms", "E2E ms", "p99", 0),
)
TERMINAL = (*THROUGHPUT, *TTFT, *ITL)
PAGE = (*THROUGHPUT, *COST, *TTFT, *ITL, *E2E)


def fixed(value: float | None, decimals: int) -> str:
    """Print a number with grouped thousands and fixed decimals, so that a column aligns; "" for None."""
    return "" if value is None else f"{value:,.{decimals}f}"
