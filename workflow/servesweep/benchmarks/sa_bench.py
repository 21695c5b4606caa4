"""`sa-bench`: random prompts from this project's own streaming client."""

from __future__ import annotations

import itertools
import json
import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load
from servesweep.loadgen.spec import RESERVED_BODY_KEYS, LoadSpec
from servesweep.recipe.problems import listed, shown
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command


def _levels(value: Any) -> list[int]:
    """Read `4`, `"1x2x4"`, `[1, 2, 4]` or `["1", "2"]`."""
    words = value.split("x") if isinstance(value, str) else value if isinstance(value, list) else [value]
    if not words:
        raise ValueError("at least one concurrency is needed")
    levels = [_positive(word) for word in words]
    if None in levels:
        wrong = next(word for word, level in zip(words, levels, strict=True) if level is None)
        raise ValueError(
            f"expected whole numbers from 1, as a list or as text like 1x2x4, got {shown(wrong)}"
        )
    return [level for level in levels if level is not None]


def _positive(word: Any) -> int | None:
    if isinstance(word, bool):
        return None
    number = (
        word
        if isinstance(word, int)
        else int(word)
        if isinstance(word, str) and word.strip().isdigit()
        else 0
    )
    return number if number >= 1 else None


def _rates(value: Any) -> list[float]:
    """Read `inf`, `2.5`, `"2.5"` or a list of them."""
    rates = []
    for word in value if isinstance(value, list) else [value]:
        try:
            rate = math.nan if isinstance(word, bool) else float(word)
        except (TypeError, ValueError):
            rate = math.nan
        if not rate > 0:
            raise ValueError(f"expected inf or requests per second above 0, got {shown(word)}")
        rates.append(rate)
    if not rates:
        raise ValueError("at least one request rate is needed")
    return rates


class SaBenchOptions(Section):
    """The load: lengths, levels, warm-up."""

    isl: int = Field(ge=1, description="Input sequence length, tokens.")
    osl: int = Field(ge=1, description="Output sequence length, tokens.")
    concurrencies: Annotated[list[int], BeforeValidator(_levels)] = Field(
        description="Requests in flight: one number, a list, or text like 1x2x4."
    )
    req_rate: Annotated[list[float], BeforeValidator(_rates)] = Field(
        default=[math.inf],
        description="Mean requests per second of a Poisson process, or inf; a list gives more points.",
    )
    random_range_ratio: float = Field(
        default=0.8,
        ge=0,
        le=1,
        description="Lengths are uniform between this share of ISL or OSL and the whole.",
    )
    num_prompts_mult: int = Field(default=10, ge=1, description="Measured requests = concurrency x this.")
    num_warmup_mult: int = Field(default=2, ge=0, description="Warm-up requests = concurrency x this.")
    repeats: int = Field(default=1, ge=1, description="How many times each level is measured.")
    seed: int = Field(
        default=0, ge=0, description="Seed of prompts, lengths and arrivals; mixed with the point."
    )
    api: Literal["completions", "chat"] = Field(
        default="completions", description="OpenAI endpoint that is asked."
    )
    ignore_eos: bool = Field(default=True, description="Ask the engine to go on to the asked length.")
    temperature: float = Field(default=0.0, ge=0, description="Sampling temperature.")
    extra_body: dict[str, Any] = Field(default_factory=dict, description="Further keys of each request body.")
    request_timeout_s: float = Field(default=600.0, gt=0, description="A longer request has failed, seconds.")
    max_failed_fraction: float = Field(
        default=0.0, ge=0, lt=1, description="Share of failed requests with which a point still counts."
    )
    custom_tokenizer: str | None = Field(
        default=None, description="Tokenizer directory, where the model's is not the one."
    )
    client_processes: int | None = Field(
        default=None, ge=1, description="Client processes; default: chosen from the load."
    )

    @field_validator("extra_body")
    @classmethod
    def _own_keys_only(cls, body: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(RESERVED_BODY_KEYS & body.keys()):
            raise ValueError(f"the client sets {listed(taken)} in each request: remove it")
        return body


class SaBench(Benchmark):
    """One point for each concurrency, request rate and repeat."""

    name = "sa-bench"
    Options = SaBenchOptions

    def loads(self, options: Section) -> list[Load]:
        """Concurrency is the fastest-changing key, repeats the slowest."""
        assert isinstance(options, SaBenchOptions)
        facts = options.model_dump(
            mode="json", exclude={"concurrencies", "req_rate", "repeats", "client_processes"}
        )
        grid = itertools.product(range(options.repeats), options.req_rate, options.concurrencies)
        return [
            Load(
                id=_point_id(level, rate, repeat),
                concurrency=level,
                request_rate="inf" if math.isinf(rate) else rate,
                repeat=repeat,
                facts=facts,
            )
            for repeat, rate, level in grid
        ]

    def files(self, options: Section) -> list[str]:
        """The recipe's own tokenizer makes the prompts."""
        assert isinstance(options, SaBenchOptions)
        return [f"{options.custom_tokenizer}/tokenizer.json"] if options.custom_tokenizer else []

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """Write the load as a file and call the client on it."""
        assert isinstance(options, SaBenchOptions)
        assert load.concurrency is not None
        spec = LoadSpec.model_validate(
            {
                **options.model_dump(
                    exclude={
                        "concurrencies", "req_rate", "repeats", "num_prompts_mult", "num_warmup_mult",
                        "custom_tokenizer", "client_processes",
                    }
                ),
                **gpu_counts(context),
                "configuration": context.configuration,
                "point": load.id,
                "digest": context.digest,
                "url": context.url,
                "model": context.deployment.served_model,
                "tokenizer": options.custom_tokenizer or context.tokenizer,
                "concurrency": load.concurrency,
                "request_rate": float(load.request_rate or "inf"),
                "repeat": load.repeat,
                "num_prompts": load.concurrency * options.num_prompts_mult,
                "num_warmup": load.concurrency * options.num_warmup_mult,
                "processes": options.client_processes,
            }
        )  # fmt: skip
        file = f"{context.directory}/load.json"
        argv = ("python3", "-m", "servesweep.loadgen", file, "--output", context.output)
        return Command(
            argv=argv,
            env=context.environment,
            files={file: json.dumps(spec.model_dump(mode="json"), indent=1)},
        )


def gpu_counts(context: BenchmarkContext) -> dict[str, int]:
    """GPUs that the workers hold: the denominators of every per-GPU number."""
    by_mode = dict.fromkeys(("prefill", "decode", "agg"), 0)
    for process in context.deployment.processes:
        by_mode[process.mode] += len(process.gpus)
    counts = {"total_gpus": sum(by_mode.values())}
    return counts | {"prefill_gpus": by_mode["prefill"], "decode_gpus": by_mode["decode"]}


def _point_id(level: int, rate: float, repeat: int) -> str:
    parts = [f"c{level}"]
    if not math.isinf(rate):
        parts.append(f"r{rate:.15g}")
    if repeat:
        parts.append(f"k{repeat}")
    return "-".join(parts)
