"""Whether a measured point counts. Pure."""

from __future__ import annotations

import math

from servesweep.loadgen.spec import LoadSpec
from servesweep.loadgen.statistics import Summary


def judge(spec: LoadSpec, summary: Summary) -> list[str]:
    """Why this point does not count, one clause each; empty: it counts."""
    reasons = _requests(spec, summary)
    if summary.completed:
        reasons += _tokens(spec, summary) + _model(spec, summary)
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
    share = summary.output_tokens / summary.asked_output_tokens
    if spec.min_output_fraction is not None and share < spec.min_output_fraction:
        return [f"only {share:.3f} of the asked output tokens came, at least {spec.min_output_fraction} must"]
    return []


def _model(spec: LoadSpec, summary: Summary) -> list[str]:
    others = [model for model in summary.models if model != spec.model]
    if not others:
        return []
    named = ", ".join(repr(model) if model else "no model name" for model in others)
    return [f"asked {spec.model!r}, answered by {named}"]
