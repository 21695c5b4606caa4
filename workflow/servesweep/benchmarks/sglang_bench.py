"""`sglang-bench`: the load of SGLang's own serving benchmark, sent and judged by this project's client."""

from __future__ import annotations

import itertools
import math

from pydantic import Field

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load
from servesweep.benchmarks.client_load import HARMLESS, client_command, tokenizer_files, tokenizer_packages
from servesweep.benchmarks.client_options import ClientOptions
from servesweep.benchmarks.sa_bench import level_id
from servesweep.benchmarks.shared_options import OF_AIPERF, Levels, Rates
from servesweep.recipe.limits import MOST_REQUESTS, MOST_TOKENS
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command

WARMUP_REQUESTS = 1


class SglangBenchOptions(ClientOptions):
    """Random prompts, as many at every level, as SGLang's own client sends them."""

    isl: int = Field(ge=1, le=MOST_TOKENS, description="Input sequence length, tokens.")
    osl: int = Field(ge=1, le=MOST_TOKENS, description="Output sequence length, tokens.")
    concurrencies: Levels = Field(description="Requests in flight: one number, a list, or text like 1x2x4.")
    req_rate: Rates = Field(default=[float("inf")], description="Requests per second, or inf.")
    num_prompts: int = Field(default=128, ge=1, le=MOST_REQUESTS, description="Requests of each point.")
    random_range_ratio: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Lengths are uniform between this share of ISL or OSL and the whole.",
    )


class SglangBench(Benchmark):
    """One point for each concurrency and request rate."""

    name = "sglang-bench"
    Options = SglangBenchOptions

    def loads(self, options: Section) -> list[Load]:
        """Concurrency is the fastest-changing key."""
        assert isinstance(options, SglangBenchOptions)
        without = {*OF_AIPERF, *HARMLESS, "concurrencies", "req_rate"}
        facts = options.model_dump(mode="json", exclude=without, exclude_defaults=True)
        return [
            Load(
                id=level_id(level, rate),
                concurrency=level,
                request_rate="inf" if math.isinf(rate) else rate,
                facts=facts,
            )
            for rate, level in itertools.product(options.req_rate, options.concurrencies)
        ]

    def named_files(self, options: Section) -> dict[str, str]:
        """The recipe's own tokenizer."""
        assert isinstance(options, SglangBenchOptions)
        return tokenizer_files(options)

    def packages(self, options: Section) -> dict[str, str]:
        """The package of the recipe's own tokenizer."""
        assert isinstance(options, SglangBenchOptions)
        return tokenizer_packages(options)

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """Call this project's client with that load, after one request of warm-up."""
        assert isinstance(options, SglangBenchOptions)
        return client_command(
            load,
            options,
            context,
            isl=options.isl,
            osl=options.osl,
            random_range_ratio=options.random_range_ratio,
            num_prompts=options.num_prompts,
            num_warmup=WARMUP_REQUESTS,
        )
