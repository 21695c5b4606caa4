"""Options of the types that this project's own client measures: how requests are sent, and what counts."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator

from servesweep.benchmarks.shared_options import SharedOptions
from servesweep.loadgen.spec import RESERVED_BODY_KEYS, Latency, unknown_objective
from servesweep.recipe.limits import A_WEEK, LARGEST_SEED
from servesweep.recipe.problems import listed, shown
from servesweep.recipe.section import fault
from servesweep.recipe.texts import Line


def _positive(limit: float) -> float:
    if not 0 < limit < math.inf:
        raise ValueError(f"expected a number above 0, got {shown(limit)}")
    return limit


def _milliseconds(limit: float) -> float:
    if not 0 < limit < math.inf:
        raise ValueError(f"expected milliseconds above 0, got {shown(limit)}")
    return limit


class GateOptions(SharedOptions):
    """With which numbers a point counts, and with which it is marked."""

    max_failed_fraction: float = Field(
        default=0.0, ge=0, lt=1, description="Share of failed requests with which a point still counts."
    )
    min_duration_s: float = Field(
        default=0.0, ge=0, le=A_WEEK, description="Shortest measurement that counts, seconds."
    )
    slo: dict[str, Annotated[float, AfterValidator(_positive)]] = Field(
        default_factory=dict,
        description="Objectives such as ttft_p99_ms, tpot_mean_ms or output_tok_s_per_user; a point that "
        "misses one is marked, and still counts.",
    )

    @field_validator("slo")
    @classmethod
    def _known_objectives(cls, slo: dict[str, float]) -> dict[str, float]:
        for name in slo:
            if problem := unknown_objective(name):
                raise fault(problem, name)
        return slo


class ClientOptions(GateOptions):
    """How the requests are sent, and what else a point must show to count."""

    seed: int = Field(
        default=0,
        ge=0,
        le=LARGEST_SEED,
        description="Seed of prompts, lengths and arrivals; mixed with the point.",
    )
    ignore_eos: bool = Field(default=True, description="Ask the engine to go on to the asked length.")
    temperature: float = Field(default=0.0, ge=0, le=100, description="Sampling temperature.")
    extra_body: dict[str, Any] = Field(default_factory=dict, description="Further keys of each request body.")
    request_timeout_s: float = Field(
        default=600.0, gt=0, le=A_WEEK, description="A longer request has failed, seconds."
    )
    custom_tokenizer: Line | None = Field(
        default=None,
        description="Tokenizer directory, where the model's is not the one; or package.module.Class.",
    )
    client_processes: int | None = Field(
        default=None, ge=1, le=1024, description="Client processes; default: chosen from the load."
    )
    goodput: dict[Latency, Annotated[float, AfterValidator(_milliseconds)]] = Field(
        default_factory=dict,
        description="Limits in ms that a request must keep, all of them, to count as goodput: ttft, tpot, itl"
        " (the mean gap between its pieces), e2el. One without a TPOT (one token) or without a gap (one"
        " piece) keeps that limit.",
    )
    min_output_fraction: float | None = Field(
        default=None, gt=0, le=1, description="Smallest output/asked ratio with which a point counts."
    )
    max_input_deviation: float | None = Field(
        default=None,
        ge=0,
        description="Largest relative difference of the server's count of input tokens from what was sent.",
    )
    max_one_piece_fraction: float | None = Field(
        default=None, ge=0, le=1, description="Share of answers that may come in one piece, not streamed."
    )
    max_client_lag_ms: float | None = Field(
        default=None,
        gt=0,
        description="Largest lag of the client itself (p99) with which a point counts; default: it is noted.",
    )

    @field_validator("extra_body")
    @classmethod
    def _own_keys_only(cls, body: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(RESERVED_BODY_KEYS & body.keys()):
            raise ValueError(f"the client sets {listed(taken)} in each request: remove it")
        return body
