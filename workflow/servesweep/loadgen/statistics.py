"""From the records of single requests to the metrics of a point. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from servesweep.loadgen.record import RequestRecord
from servesweep.loadgen.spec import LoadSpec

PERCENTILES = (50, 90, 95, 99)
Metrics = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything a verdict and a result need to know of the measured requests."""

    asked: int
    completed: int
    failed: int
    errors: dict[str, int]
    error_examples: dict[str, str]
    input_tokens: int
    output_tokens: int
    asked_input_tokens: int
    asked_output_tokens: int
    """Tokens asked for by the completed requests."""
    chunks: int
    uncounted: int
    """Completed requests of which the server told no number of output tokens."""
    models: list[str]
    duration_s: float
    max_in_flight: int
    several: int
    """Completed requests of more than one output token."""
    one_piece: int
    """Those of them whose content came in one piece: they tell nothing of the ITL."""
    metrics: Metrics


def summarise(spec: LoadSpec, records: Sequence[RequestRecord]) -> Summary:
    """Count, add up and average; failed requests enter the counts of failures and nothing else."""
    good = [record for record in records if record.ok]
    bad = [record for record in records if not record.ok]
    duration = duration_s(good)
    several = [record for record in good if record.output_tokens > 1]
    return Summary(
        asked=spec.num_prompts,
        completed=len(good),
        failed=len(bad),
        errors=dict(Counter(record.status for record in bad).most_common()),
        error_examples={record.status: record.detail for record in reversed(bad) if record.detail},
        input_tokens=sum(record.input_tokens for record in good),
        output_tokens=sum(record.output_tokens for record in good),
        asked_input_tokens=sum(record.asked_input for record in good),
        asked_output_tokens=sum(record.asked_output for record in good),
        chunks=sum(len(record.arrivals) for record in good),
        uncounted=sum(record.usage_output is None for record in good),
        models=sorted({record.model for record in good}),
        duration_s=duration,
        max_in_flight=max_in_flight(records),
        several=len(several),
        one_piece=sum(record.arrivals[-1] == record.arrivals[0] for record in several),
        metrics=latencies(good) | throughputs(spec, good, duration),
    )


def duration_s(good: Sequence[RequestRecord]) -> float:
    """Seconds from the first send to the last token of the completed requests; 0 without any."""
    if not good:
        return 0.0
    return max(record.arrivals[-1] for record in good) - min(record.sent for record in good)


def max_in_flight(records: Sequence[RequestRecord]) -> int:
    """Most requests open at one moment, over all processes; one that ends as another starts is not."""
    events = sorted([(r.sent, 1) for r in records] + [(r.ended, -1) for r in records])
    level = most = 0
    for _, step in events:
        level += step
        most = max(most, level)
    return most


def latencies(good: Sequence[RequestRecord]) -> Metrics:
    """`mean_ttft_ms` … `p99_e2el_ms`: four latencies, seven figures each, in ms; None without a sample."""
    gaps = [np.diff(np.frombuffer(r.arrivals)) for r in good]
    samples = {
        "ttft": [r.ttft_s for r in good],
        "tpot": [tpot for r in good if (tpot := r.tpot_s) is not None],
        "itl": np.concatenate(gaps) if gaps else [],
        "e2el": [r.e2el_s for r in good],
    }
    metrics: Metrics = {}
    for name, seconds in samples.items():
        metrics |= distribution(name, np.asarray(seconds, dtype=np.float64) * 1e3)
    return metrics


def distribution(name: str, values: npt.NDArray[np.float64]) -> Metrics:
    """Mean, median, standard deviation (population) and percentiles (linear interpolation) of one latency.

    The keys are those of the field's tools (vLLM's and SGLang's serving benchmarks): `p99_ttft_ms`.
    """
    keys = ["mean", "median", "std", *(f"p{p}" for p in PERCENTILES)]
    figures: list[float | None] = [None] * len(keys)
    if values.size:
        figures = [float(values.mean()), float(np.median(values)), float(values.std())]
        figures += [float(p) for p in np.percentile(values, PERCENTILES)]
    return {f"{key}_{name}_ms": figure for key, figure in zip(keys, figures, strict=True)}


def throughputs(spec: LoadSpec, good: Sequence[RequestRecord], duration: float) -> Metrics:
    """Rates over the duration, per GPU where the spec says how many there are, else None.

    `output_tok_s_per_user` is 1000 / median TPOT in ms: the speed that one user sees while decoding, the x
    axis of the usual Pareto plot (the definition of srt-slurm's rollup).
    """
    output = sum(record.output_tokens for record in good)
    inputs = sum(record.input_tokens for record in good)
    tpots = [tpot for record in good if (tpot := record.tpot_s) is not None]
    return {
        "request_throughput_per_s": _ratio(len(good), duration),
        "request_goodput_per_s": _ratio(goodput(spec, good), duration) if spec.goodput else None,
        "output_throughput_tok_s": _ratio(output, duration),
        "input_throughput_tok_s": _ratio(inputs, duration),
        "total_throughput_tok_s": _ratio(output + inputs, duration),
        "output_tok_s_per_gpu": _ratio(output, duration * spec.total_gpus),
        "total_tok_s_per_gpu": _ratio(output + inputs, duration * spec.total_gpus),
        "output_tok_s_per_decode_gpu": _ratio(output, duration * spec.decode_gpus),
        "input_tok_s_per_prefill_gpu": _ratio(inputs, duration * spec.prefill_gpus),
        "output_tok_s_per_user": _ratio(1.0, float(np.median(tpots))) if tpots else None,
    }


def goodput(spec: LoadSpec, good: Sequence[RequestRecord]) -> int:
    """Completed requests that keep every limit of `spec.goodput`; a latency that a request lacks is kept."""
    return sum(all(_kept(record, name, limit) for name, limit in spec.goodput.items()) for record in good)


def _kept(record: RequestRecord, name: str, limit_ms: float) -> bool:
    gaps = len(record.arrivals) - 1
    seconds = {
        "ttft": record.ttft_s,
        "tpot": record.tpot_s or 0.0,
        "itl": (record.arrivals[-1] - record.arrivals[0]) / gaps if gaps else 0.0,
        "e2el": record.e2el_s,
    }[name]
    return seconds * 1e3 <= limit_ms


def _ratio(amount: float, divisor: float) -> float | None:
    return amount / divisor if divisor > 0 and math.isfinite(amount) else None
