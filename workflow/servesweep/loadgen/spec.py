"""The load of one point: everything the client must know, checked before anything is sent."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_serializer, field_validator, model_validator

from servesweep.loadgen.slo import unknown_objective as unknown_objective

RESERVED_BODY_KEYS = frozenset(
    {
        "model", "prompt", "messages", "stream", "stream_options", "n", "max_tokens",
        "max_completion_tokens", "temperature", "ignore_eos",
    }
)  # fmt: skip
"""Keys of the request body that have their own field here, or that the measurement relies on."""

Latency = Literal["ttft", "tpot", "itl", "e2el"]


class LoadSpec(BaseModel):
    """One load level on one running deployment."""

    # Built when first used: who only plans reads no specification.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    configuration: str = Field(min_length=1, description="Name of the configuration that is measured.")
    point: str = Field(min_length=1, description="Name of the load level; part of the seed of the prompts.")
    digest: str = Field(description="Identity of the configuration, carried into the result unread.")
    url: str = Field(description="Base address of the server, for example http://host:8000.")
    model: str = Field(min_length=1, description="Model name put in each request; the answers must name it.")
    api: Literal["completions", "chat"] = Field(
        "completions",
        description="completions: POST /v1/completions with the text as prompt; chat: POST "
        "/v1/chat/completions with the text as one user message (the template's tokens come on top).",
    )
    tokenizer: Path | None = Field(
        None,
        description="A tokenizer.json, or the model directory that holds it, used to make prompts of an "
        "exact token length; null counts whitespace-separated words instead.",
    )
    tokenizer_class: str | None = Field(
        None, description="package.module.Class that reads the tokenizer instead; it is given its directory."
    )
    dataset_path: Path | None = Field(
        None, description="File of prompts (see `prompt_files`); null: random words of the asked lengths."
    )
    salt: bool = Field(
        True,
        description="Begin each prompt of a file with a word of the point's own, so that no point warms the "
        "prefix cache of another; what prompts share among each other stays shared.",
    )
    isl: int | None = Field(None, ge=1, description="Longest random input, in tokens.")
    osl: int | None = Field(
        None, ge=1, description="Longest output asked for, in tokens; null: as the file of prompts says."
    )
    prefix_ratio: float = Field(
        0.0, ge=0, lt=1, description="Share of each random prompt, its beginning, that others have too."
    )
    num_prefixes: int = Field(1, ge=1, description="How many different beginnings the prompts share.")
    random_range_ratio: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Input and output lengths are uniform in [ratio * length, length]; 1.0 is exact.",
    )
    concurrency: int | None = Field(
        None, ge=1, description="Most requests in flight at once; null: no limit, the request rate decides."
    )
    request_rate: float = Field(
        math.inf,
        gt=0,
        description='Mean requests per second of a Poisson process; "inf": as soon as allowed.',
    )
    num_prompts: int = Field(ge=1, description="Requests that are measured.")
    num_warmup: int = Field(0, ge=0, description="Requests sent before, with other prompts, not measured.")
    warmup_request_rate: float = Field(
        250.0, gt=0, description="Mean requests per second of the warm-up (same concurrency limit)."
    )
    seed: int = Field(
        0, ge=0, description="Seed of prompts, lengths and arrivals, mixed with `point` and `repeat`."
    )
    repeat: int = Field(0, ge=0, description="Number of this repetition of the point.")
    ignore_eos: bool = Field(True, description="Ask the engine to go on to the asked length.")
    temperature: float = Field(0.0, ge=0, description="Sampling temperature.")
    extra_body: dict[str, Any] = Field(
        default_factory=dict, description="Further keys of each request body, for example top_p."
    )
    request_timeout_s: float = Field(
        600.0, gt=0, description="A request that takes longer has failed, seconds."
    )
    processes: int | None = Field(
        None, ge=1, description="Client processes; null: chosen from the load, at most one a CPU."
    )
    total_gpus: int = Field(
        0, ge=0, description="GPUs that serve, the divisor of the per-GPU metrics; 0: none."
    )
    prefill_gpus: int = Field(0, ge=0, description="GPUs of the prefill role when disaggregated, else 0.")
    decode_gpus: int = Field(0, ge=0, description="GPUs of the decode role when disaggregated, else 0.")
    max_failed_fraction: float = Field(
        0.0, ge=0, lt=1, description="Largest share of failed requests with which the point still counts."
    )
    min_output_fraction: float | None = Field(
        None,
        gt=0,
        le=1,
        description="Smallest output/asked token ratio with which the point counts; null: any.",
    )
    max_input_deviation: float | None = Field(
        None,
        ge=0,
        description="Largest |counted - sent| / sent input tokens with which the point counts; null: any.",
    )
    max_one_piece_fraction: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Largest share of answers of several tokens that may come in one piece; null: any.",
    )
    min_duration_s: float = Field(0.0, ge=0, description="Shortest measurement that counts, seconds.")
    max_client_lag_ms: float | None = Field(
        None,
        gt=0,
        description="Largest 99th percentile of the client's own lag with which the point counts, ms; "
        "null: a lag is noted and the point counts.",
    )
    slo: dict[str, float] = Field(
        default_factory=dict,
        description="Objectives of the point, for example {ttft_p99_ms: 500}; they mark the result.",
    )
    goodput: dict[Latency, float] = Field(
        default_factory=dict,
        description="Limits in ms that a request must keep, all of them, to count as goodput; for example "
        "{ttft: 500, tpot: 20}. itl is the mean gap between the request's pieces; one without a TPOT (one "
        "token) or without a gap (one piece) keeps that limit.",
    )

    @field_validator("url")
    @classmethod
    def _base_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must look like http://host:port")
        if parts.path.rstrip("/") or parts.query:
            raise ValueError("must be the base address, without a path (the api decides that)")
        return value.rstrip("/")

    @field_validator("extra_body")
    @classmethod
    def _own_keys_only(cls, value: dict[str, Any]) -> dict[str, Any]:
        taken = sorted(RESERVED_BODY_KEYS & value.keys())
        if taken:
            raise ValueError(f"may not set {', '.join(taken)}: the client sets it")
        return value

    @field_validator("goodput")
    @classmethod
    def _positive_limits(cls, value: dict[Latency, float]) -> dict[Latency, float]:
        for name, limit in value.items():
            if not limit > 0:
                raise ValueError(f"the limit of {name} must be above 0 ms")
        return value

    @field_validator("slo")
    @classmethod
    def _known_objectives(cls, value: dict[str, float]) -> dict[str, float]:
        for name, limit in value.items():
            if problem := unknown_objective(name):
                raise ValueError(problem)
            if not 0 < limit < math.inf:
                raise ValueError(f"the objective {name} must be above 0")
        return value

    @field_serializer("request_rate", "warmup_request_rate", when_used="json")
    def _readable_infinity(self, value: float) -> float | str:
        return "inf" if math.isinf(value) else value

    @model_validator(mode="after")
    def _some_limit(self) -> LoadSpec:
        if self.concurrency is None and math.isinf(self.request_rate):
            raise ValueError(
                "give a concurrency or a finite request_rate (all at once: concurrency = num_prompts)"
            )
        if self.dataset_path is None and None in (self.isl, self.osl):
            raise ValueError("random prompts need isl and osl; others a dataset_path")
        if self.prefill_gpus + self.decode_gpus > self.total_gpus > 0:
            raise ValueError("prefill_gpus + decode_gpus is more than total_gpus")
        return self

    @property
    def endpoint(self) -> str:
        """Full address that requests are posted to."""
        return self.url + ("/v1/chat/completions" if self.api == "chat" else "/v1/completions")
