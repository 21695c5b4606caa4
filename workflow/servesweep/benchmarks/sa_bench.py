"""`sa-bench`: random prompts from this project's own streaming client."""

from __future__ import annotations

import itertools
import json
import math

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load
from servesweep.benchmarks.sa_bench_options import SaBenchOptions
from servesweep.benchmarks.shared_options import OF_AIPERF
from servesweep.loadgen.spec import LoadSpec
from servesweep.recipe.section import Section, said
from servesweep.topology.deployment import Command

# What makes points of its own, what changes no number, and what only other clients know.
LEVELS = ("concurrencies", "req_rate", "repeats")
HARMLESS = (
    *OF_AIPERF, "client_processes", "reuse_http_connections", "use_chat_template",
)  # fmt: skip
UNUSED = ("dataset_name", "dataset_path", "slow_down_sleep_time", "slow_down_wait_time")


class SaBench(Benchmark):
    """One point for each concurrency, request rate and repeat."""

    name = "sa-bench"
    Options = SaBenchOptions

    def loads(self, options: Section) -> list[Load]:
        """Concurrency is the fastest-changing key, repeats the slowest."""
        assert isinstance(options, SaBenchOptions)
        facts = {
            **options.model_dump(mode="json", exclude={*LEVELS, *HARMLESS}, exclude_defaults=True),
            "api": options.endpoint,
        }
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

    def unsupported(self, options: Section) -> list[str]:
        """Other datasets, other tokenizers than files, and SGLang's slow start."""
        assert isinstance(options, SaBenchOptions)
        tokenizer = options.custom_tokenizer
        wanted = {
            "benchmark.dataset_name: the custom dataset": options.dataset_name == "custom",
            "benchmark.slow_down_sleep_time: a slow start of decode": options.slow_down_sleep_time
            is not None,
            "benchmark.custom_tokenizer: a Python class instead of a directory": (
                tokenizer is not None and "/" not in tokenizer and "." in tokenizer
            ),
        }
        return [feature for feature, asked in wanted.items() if asked]

    def named_files(self, options: Section) -> dict[str, str]:
        """The recipe's own tokenizer, which makes the prompts, or its own prompts."""
        assert isinstance(options, SaBenchOptions)
        found = {}
        if tokenizer := options.custom_tokenizer:
            whole = tokenizer.endswith(".json")
            found["custom_tokenizer"] = tokenizer if whole else f"{tokenizer}/tokenizer.json"
        if options.dataset_name == "custom" and options.dataset_path is not None:
            found["dataset_path"] = options.dataset_path
        return found

    def unread(self, options: Section) -> dict[str, str]:
        """A file of prompts that are not asked for, half of a slow start, and connections that are kept."""
        assert isinstance(options, SaBenchOptions)
        found = super().unread(options)
        if options.reuse_http_connections is False:
            found["reuse_http_connections"] = "connections are always reused"
        if options.dataset_name != "custom":
            found |= dict.fromkeys(said(options, ("dataset_path",)), "dataset_name is random")
        if options.slow_down_sleep_time is None:
            told = "slow_down_sleep_time is not set"
            found |= dict.fromkeys(said(options, ("slow_down_wait_time",)), told)
        return found

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """Write the load as a file and call the client on it."""
        assert isinstance(options, SaBenchOptions)
        assert load.concurrency is not None
        spec = LoadSpec.model_validate(
            {
                **options.model_dump(
                    exclude={
                        *LEVELS, *HARMLESS, *UNUSED, "num_prompts_mult", "num_warmup_mult",
                        "custom_tokenizer",
                    }
                ),
                "api": options.endpoint,
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
