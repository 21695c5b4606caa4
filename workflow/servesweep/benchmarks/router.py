"""`router`: prompts that share beginnings, to see what a router's and an engine's prefix cache are worth."""

from __future__ import annotations

from pydantic import Field, field_validator

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load
from servesweep.benchmarks.client_load import HARMLESS, client_command, tokenizer_files, tokenizer_packages
from servesweep.benchmarks.client_options import ClientOptions
from servesweep.benchmarks.shared_options import OF_AIPERF
from servesweep.recipe.limits import MOST_IN_FLIGHT, MOST_REQUESTS, MOST_TOKENS
from servesweep.recipe.problems import shown
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command


class RouterOptions(ClientOptions):
    """Prompts that share prefixes, one point for each share."""

    isl: int = Field(default=14000, ge=1, le=MOST_TOKENS, description="Input sequence length, tokens.")
    osl: int = Field(default=200, ge=1, le=MOST_TOKENS, description="Output sequence length, tokens.")
    num_requests: int = Field(default=200, ge=1, le=MOST_REQUESTS, description="Requests of each ratio.")
    concurrency: int = Field(default=20, ge=1, le=MOST_IN_FLIGHT, description="Requests in flight.")
    prefix_ratios: str = Field(
        default="0.1 0.3 0.5 0.7 0.9", description="Shares of the prompt that are common, one point each."
    )
    num_prefix_prompts: int = Field(
        default=20, ge=1, le=MOST_REQUESTS, description="How many different beginnings the prompts share."
    )

    @field_validator("prefix_ratios")
    @classmethod
    def _shares(cls, text: str) -> str:
        words = text.split()
        if not words:
            raise ValueError("at least one ratio is needed")
        for word in words:
            try:
                ratio = float(word)
            except ValueError:
                ratio = -1.0
            if not 0 <= ratio < 1:
                raise ValueError(f"expected shares from 0 to below 1, as 0.1 0.5 0.9, got {shown(word)}")
        return text

    @property
    def ratios(self) -> list[float]:
        """The shares, as numbers."""
        return [float(word) for word in self.prefix_ratios.split()]


class Router(Benchmark):
    """One point for each prefix ratio, without a warm-up: the first request of a beginning pays for it."""

    name = "router"
    Options = RouterOptions

    def loads(self, options: Section) -> list[Load]:
        """The ratios in their order."""
        assert isinstance(options, RouterOptions)
        without = {*OF_AIPERF, *HARMLESS, "prefix_ratios", "concurrency"}
        facts = options.model_dump(mode="json", exclude=without, exclude_defaults=True)
        return [
            Load(
                id=_point_id(ratio),
                concurrency=options.concurrency,
                request_rate="inf",
                facts={**facts, "prefix_ratio": ratio},
            )
            for ratio in options.ratios
        ]

    def named_files(self, options: Section) -> dict[str, str]:
        """The recipe's own tokenizer."""
        assert isinstance(options, RouterOptions)
        return tokenizer_files(options)

    def packages(self, options: Section) -> dict[str, str]:
        """The package of the recipe's own tokenizer."""
        assert isinstance(options, RouterOptions)
        return tokenizer_packages(options)

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """Call this project's client with prompts of exactly `isl` tokens."""
        assert isinstance(options, RouterOptions)
        ratio = next(ratio for ratio in options.ratios if _point_id(ratio) == load.id)
        return client_command(
            load,
            options,
            context,
            isl=options.isl,
            osl=options.osl,
            random_range_ratio=1.0,
            prefix_ratio=ratio,
            num_prefixes=options.num_prefix_prompts,
            num_prompts=options.num_requests,
        )


def _point_id(ratio: float) -> str:
    return f"prefix{ratio:.15g}"
