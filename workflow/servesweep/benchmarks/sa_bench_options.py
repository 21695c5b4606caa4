"""Options of `sa-bench`: which load is put on the deployment, and what of it can be measured."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator

from servesweep.benchmarks.client_options import ClientOptions
from servesweep.benchmarks.shared_options import Levels, Rates
from servesweep.recipe.limits import A_WEEK, MOST_POINTS, MOST_REQUESTS, MOST_TOKENS
from servesweep.recipe.not_yet import NotYet
from servesweep.recipe.section import fault
from servesweep.recipe.texts import Line

# None where a file of prompts says it, which is not written.
Length = Annotated[
    Annotated[int, Field(ge=1, le=MOST_TOKENS)] | None,
    WithJsonSchema({"type": "integer", "minimum": 1, "maximum": MOST_TOKENS}),
]
LENGTHS = ("isl", "osl")
OWN_LENGTHS = ("sharegpt", "custom")


def _lengths_of_random_prompts(schema: dict[str, Any]) -> None:
    """What an editor is told to be missing: lengths, but not of a file of prompts."""
    schema["required"] = [key for key in schema["required"] if key not in LENGTHS]
    of_file = {"properties": {"dataset_name": {"enum": list(OWN_LENGTHS)}}, "required": ["dataset_name"]}
    schema |= {"if": of_file, "then": {"required": ["dataset_path"]}, "else": {"required": list(LENGTHS)}}


class SaBenchOptions(ClientOptions):
    """The load: lengths, levels, warm-up."""

    model_config = ConfigDict(json_schema_extra=_lengths_of_random_prompts)

    isl: Length = Field(
        description="Input sequence length, tokens; not required of a file of prompts, which has its own."
    )
    osl: Length = Field(
        description="Output sequence length, tokens; not required of a file of prompts that says it."
    )
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
    api: Literal["completions", "chat"] = Field(
        default="completions", description="OpenAI endpoint that is asked."
    )
    use_chat_template: bool | None = Field(
        default=None, description="Ask the chat endpoint, where the server applies the model's template."
    )
    dataset_name: Literal["random", "sharegpt", "custom"] = Field(
        default="random",
        description="Where prompts come from: random words, or the file of dataset_path in either form.",
    )
    dataset_path: Line | None = Field(
        default=None,
        description="File of prompts: ShareGPT's JSON, or a line of JSON with prompt or messages, and "
        "output_tokens, for each.",
    )
    salt_prompts: bool = Field(
        default=True,
        description="Begin the file's prompts with a word of the point's own, so that no point warms the "
        "prefix cache of the next.",
    )
    reuse_http_connections: bool | None = Field(
        default=None, description="Read for compatibility: connections are always reused."
    )
    slow_down_sleep_time: float | None = Field(
        default=None,
        ge=0,
        le=A_WEEK,
        description="SGLang: seconds that decode sleeps before a point.",
        json_schema_extra=NotYet("a slow start of decode"),
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
        return self

    @model_validator(mode="after")
    def _some_prompts(self) -> SaBenchOptions:
        if self.dataset_name != "random" and self.dataset_path is None:
            raise fault(f"the {self.dataset_name} dataset needs its file", "dataset_path")
        for key in LENGTHS:
            if self.dataset_name == "random" and getattr(self, key) is None:
                raise fault("the key has no value: write one", key)
        return self

    @model_validator(mode="before")
    @classmethod
    def _lengths_of_a_file(cls, options: Any) -> Any:
        if isinstance(options, dict) and options.get("dataset_name") in OWN_LENGTHS:
            return dict.fromkeys(LENGTHS) | options
        return options

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
