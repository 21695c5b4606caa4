"""Whether a measured point counts. Pure."""

from __future__ import annotations

import math

from servesweep.loadgen.saturation import Saturation
from servesweep.loadgen.spec import LoadSpec
from servesweep.loadgen.statistics import Summary


def judge(spec: LoadSpec, summary: Summary) -> list[str]:
    """Why this point does not count, one clause each; empty: it counts."""
    reasons = _requests(spec, summary)
    if summary.completed:
        reasons += _tokens(spec, summary) + _model(spec, summary) + _form(spec, summary)
    bad = sorted(
        key for key, value in summary.metrics.items() if value is not None and not math.isfinite(value)
    )
    if bad:
        reasons.append(f"not a finite number: {', '.join(bad)}")
    if spec.concurrency is not None and summary.max_in_flight > spec.concurrency:
        reasons.append(f"{summary.max_in_flight} requests were in flight, more than {spec.concurrency} asked")
    return reasons


def _requests(spec: LoadSpec, summary: Summary) -> list[str]:
    missing = spec.num_prompts - summary.completed - summary.failed
    reasons = []
    if missing:
        reasons.append(f"{missing} of {spec.num_prompts} requests were not sent")
    allowed = spec.max_failed_fraction * spec.num_prompts
    if summary.failed > allowed:
        limit = f" (at most {math.floor(allowed)} may)" if spec.max_failed_fraction else ""
        reasons.append(
            f"{summary.failed} of {spec.num_prompts} requests failed{limit}: {failures(summary.errors)}"
            + _example(summary)
        )
    if not summary.completed and not reasons:
        reasons.append("no request completed")
    return reasons


def failures(errors: dict[str, int]) -> str:
    """The failures by category, most frequent first: `12 timeout, 1 HTTP 500`."""
    return ", ".join(f"{count} {name}" for name, count in errors.items())


def _example(summary: Summary) -> str:
    first = next(iter(summary.errors), "")
    example = " ".join(summary.error_examples.get(first, "").split())
    return f' ("{example}")' if example else ""


def _tokens(spec: LoadSpec, summary: Summary) -> list[str]:
    if summary.output_tokens <= 0:
        return ["the completed requests hold no output tokens"]
    reasons = []
    share = summary.output_tokens / summary.asked_output_tokens
    if spec.min_output_fraction is not None and share < spec.min_output_fraction:
        reasons = [
            f"only {share:.3f} of the asked output tokens came, at least {spec.min_output_fraction} must"
        ]
    off = abs(summary.input_tokens - summary.asked_input_tokens) / summary.asked_input_tokens
    if spec.max_input_deviation is not None and off > spec.max_input_deviation:
        reasons.append(
            f"the server counted {summary.input_tokens} input tokens, {summary.asked_input_tokens} were sent:"
            f" {off:.3f} apart, at most {spec.max_input_deviation} may be"
        )
    return reasons


def _form(spec: LoadSpec, summary: Summary) -> list[str]:
    """Answers that were not streamed, and a measurement that was over too soon."""
    reasons = []
    share = summary.one_piece / summary.several if summary.several else 0.0
    if spec.max_one_piece_fraction is not None and share > spec.max_one_piece_fraction:
        reasons.append(
            f"{summary.one_piece} of {summary.several} answers came in one piece,"
            f" at most {spec.max_one_piece_fraction} of them may"
        )
    if summary.duration_s < spec.min_duration_s:
        reasons.append(f"it lasted {summary.duration_s:.3g} s, at least {spec.min_duration_s:g} were asked")
    return reasons


def judge_client(spec: LoadSpec, saturation: Saturation) -> list[str]:
    """Why the client's own measurement of itself rules the point out; empty where the recipe has no limit."""
    if spec.max_client_lag_ms is None or saturation.lag_ms_p99 <= spec.max_client_lag_ms:
        return []
    return [
        f"the client itself was {saturation.lag_ms_p99:.1f} ms late at p99,"
        f" at most {spec.max_client_lag_ms:g} may be"
    ]


def _model(spec: LoadSpec, summary: Summary) -> list[str]:
    others = [model for model in summary.models if model != spec.model]
    if not others:
        return []
    named = ", ".join(repr(model) if model else "no model name" for model in others)
    return [f"asked {spec.model!r}, answered by {named}"]
