"""`sa-bench`: random prompts, or those of a file, from this project's own streaming client."""

from __future__ import annotations

import itertools
import math
from typing import Any

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load
from servesweep.benchmarks.client_load import (
    HARMLESS,
    client_command,
    repeats_of,
    tokenizer_files,
    tokenizer_packages,
)
from servesweep.benchmarks.sa_bench_options import SaBenchOptions
from servesweep.benchmarks.shared_options import OF_AIPERF
from servesweep.recipe.not_yet import left_out
from servesweep.recipe.section import Section, said
from servesweep.topology.deployment import Command

# What makes points of its own, and what changes no number.
LEVELS = ("concurrencies", "req_rate", "repeats")
ELSEWHERE = {*OF_AIPERF, *HARMLESS, "reuse_http_connections", "use_chat_template"}
OF_FILES = ("dataset_path", "salt_prompts")
OF_RANDOM = ("isl", "random_range_ratio")


class SaBench(Benchmark):
    """One point for each concurrency, request rate and repeat."""

    name = "sa-bench"
    Options = SaBenchOptions

    def loads(self, options: Section) -> list[Load]:
        """Concurrency is the fastest-changing key, repeats the slowest."""
        assert isinstance(options, SaBenchOptions)
        facts = {
            **options.model_dump(mode="json", exclude={*LEVELS, *ELSEWHERE}, exclude_defaults=True),
            "api": options.endpoint,
        }
        grid = itertools.product(range(options.repeats), options.req_rate, options.concurrencies)
        return [
            Load(
                id=repeats_of(level_id(level, rate), options.repeats)[repeat],
                concurrency=level,
                request_rate="inf" if math.isinf(rate) else rate,
                repeat=repeat,
                facts=facts,
            )
            for repeat, rate, level in grid
        ]

    def unsupported(self, options: Section) -> list[str]:
        """SGLang's slow start."""
        assert isinstance(options, SaBenchOptions)
        slow = f"benchmark.slow_down_sleep_time: {left_out(SaBenchOptions, 'slow_down_sleep_time')}"
        return [slow] if options.slow_down_sleep_time is not None else []

    def named_files(self, options: Section) -> dict[str, str]:
        """The recipe's own tokenizer, which makes the prompts, or its own prompts."""
        assert isinstance(options, SaBenchOptions)
        found = tokenizer_files(options)
        if options.dataset_name != "random" and options.dataset_path is not None:
            found["dataset_path"] = options.dataset_path
        return found

    def packages(self, options: Section) -> dict[str, str]:
        """The package of the recipe's own tokenizer."""
        assert isinstance(options, SaBenchOptions)
        return tokenizer_packages(options)

    def unread(self, options: Section) -> dict[str, str]:
        """What only other prompts have, half of a slow start, and connections that are kept."""
        assert isinstance(options, SaBenchOptions)
        found = super().unread(options)
        if options.reuse_http_connections is False:
            found["reuse_http_connections"] = "connections are always reused"
        if options.dataset_name == "random":
            found |= dict.fromkeys(said(options, OF_FILES), "dataset_name is random")
        else:
            own = [key for key in said(options, OF_RANDOM) if getattr(options, key) is not None]
            found |= dict.fromkeys(own, "the file's prompts have lengths of their own")
        if options.slow_down_sleep_time is None:
            told = "slow_down_sleep_time is not set"
            found |= dict.fromkeys(said(options, ("slow_down_wait_time",)), told)
        return found

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """Write the load as a file and call the client on it."""
        assert isinstance(options, SaBenchOptions)
        assert load.concurrency is not None
        prompts: dict[str, Any] = {"isl": options.isl, "random_range_ratio": options.random_range_ratio}
        if options.dataset_name != "random":
            prompts = {"dataset_path": options.dataset_path, "salt": options.salt_prompts}
        return client_command(
            load,
            options,
            context,
            **prompts,
            osl=options.osl,
            api=options.endpoint,
            num_prompts=load.concurrency * options.num_prompts_mult,
            num_warmup=load.concurrency * options.num_warmup_mult,
        )


def level_id(level: int, rate: float) -> str:
    """Name of a load level: `c16`, or `c16-r2.5` where requests arrive at a rate."""
    return f"c{level}" if math.isinf(rate) else f"c{level}-r{rate:.15g}"
