"""Options of `sa-bench`: which load is put on the deployment, and what of it can be measured."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from servesweep.benchmarks.shared_options import Levels, Rates, SharedOptions
from servesweep.loadgen.spec import RESERVED_BODY_KEYS, Latency
from servesweep.recipe.limits import A_WEEK, LARGEST_SEED, MOST_POINTS, MOST_REQUESTS, MOST_TOKENS
from servesweep.recipe.problems import listed, shown
from servesweep.recipe.section import fault
from servesweep.recipe.texts import Line


def _milliseconds(limit: float) -> float:
    if not 0 < limit < math.inf:
        raise ValueError(f"expected milliseconds above 0, got {shown(limit)}")
    return limit


class SaBenchOptions(SharedOptions):
    """The load: lengths, levels, warm-up."""

    isl: int = Field(ge=1, le=MOST_TOKENS, description="Input sequence length, tokens.")
    osl: int = Field(ge=1, le=MOST_TOKENS, description="Output sequence length, tokens.")
    concurrencies: Levels = Field(description="Requests in flight: one number, a list, or text like 1x2x4.")
    req_rate: Rates = Field(
        default=[math.inf],
        description="Mean requests per second of a Poisson process, or inf; a list gives more points.",
    )
    random_range_ratio: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="Lengths are uniform between this share of ISL or OSL and the whole.",
    )
    num_prompts_mult: int = Field(
        default=10, ge=1, le=MOST_REQUESTS, description="Measured requests = concurrency x this."
    )
    num_warmup_mult: int = Field(
        default=2, ge=0, le=MOST_REQUESTS, description="Warm-up requests = concurrency x this."
    )
    repeats: int = Field(
        default=1, ge=1, le=MOST_POINTS, description="How many times each level is measured."
    )
    seed: int = Field(
        default=0,
        ge=0,
        le=LARGEST_SEED,
        description="Seed of prompts, lengths and arrivals; mixed with the point.",
    )
    api: Literal["completions", "chat"] = Field(
        default="completions", description="OpenAI endpoint that is asked."
    )
    ignore_eos: bool = Field(default=True, description="Ask the engine to go on to the asked length.")
    temperature: float = Field(default=0.0, ge=0, le=100, description="Sampling temperature.")
    extra_body: dict[str, Any] = Field(default_factory=dict, description="Further keys of each request body.")
    request_timeout_s: float = Field(
        default=600.0, gt=0, le=A_WEEK, description="A longer request has failed, seconds."
    )
    max_failed_fraction: float = Field(
        default=0.0, ge=0, lt=1, description="Share of failed requests with which a point still counts."
    )
    custom_tokenizer: Line | None = Field(
        default=None, description="Tokenizer directory, where the model's is not the one."
    )
    client_processes: int | None = Field(
        default=None, ge=1, le=1024, description="Client processes; default: chosen from the load."
    )
    goodput: dict[Latency, Annotated[float, AfterValidator(_milliseconds)]] = Field(
        default_factory=dict, description="Limits in ms that a request must keep to count as goodput."
    )
    min_output_fraction: float | None = Field(
        default=None, gt=0, le=1, description="Smallest output/asked ratio with which a point counts."
    )
    use_chat_template: bool | None = Field(
        default=None, description="Ask the chat endpoint, where the server applies the model's template."
    )
    dataset_name: Literal["random", "custom"] = Field(
        default="random", description="Where prompts come from."
    )
    dataset_path: Line | None = Field(default=None, description="File of prompts of the custom dataset.")
    reuse_http_connections: bool | None = Field(
        default=None, description="Read for compatibility: connections are always reused."
    )
    slow_down_sleep_time: float | None = Field(
        default=None, ge=0, le=A_WEEK, description="SGLang: seconds that decode sleeps before a point."
    )
    slow_down_wait_time: float | None = Field(
        default=None, ge=0, le=A_WEEK, description="SGLang: seconds until decode has its full batch."
    )

    @model_validator(mode="after")
    def _one_endpoint(self) -> SaBenchOptions:
        said = {"completions": False, "chat": True}[self.api]
        if (
            self.use_chat_template is not None
            and "api" in self.model_fields_set
            and self.use_chat_template != said
        ):
            raise fault(f"use_chat_template and api: {self.api} contradict each other: keep one", "api")
        if self.dataset_name == "custom" and self.dataset_path is None:
            raise fault("the custom dataset needs its file", "dataset_path")
        return self

    @model_validator(mode="after")
    def _can_be_measured(self) -> SaBenchOptions:
        points = len(self.concurrencies) * len(self.req_rate) * self.repeats
        if points > MOST_POINTS:
            told = "concurrencies x req_rate x repeats"
            raise fault(
                f"a configuration has at most {MOST_POINTS} points, and {told} are {points}", "repeats"
            )
        for key in ("num_prompts_mult", "num_warmup_mult"):
            requests = max(self.concurrencies) * getattr(self, key)
            if requests > MOST_REQUESTS:
                raise fault(
                    f"a point has at most {MOST_REQUESTS} requests, and the largest concurrency x this is"
                    f" {requests}",
                    key,
                )
        return self

    @property
    def endpoint(self) -> str:
        """`chat` or `completions`, whichever key says it."""
        return "chat" if self.use_chat_template else self.api

    @field_validator("extra_body")
    @classmethod
    def _own_keys_only(cls, body: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(RESERVED_BODY_KEYS & body.keys()):
            raise ValueError(f"the client sets {listed(taken)} in each request: remove it")
        return body
