"""The command that measures one load with this project's own client, for the types that use it."""

from __future__ import annotations

import json
from typing import Any

from servesweep.benchmarks.benchmark import BenchmarkContext, Load
from servesweep.benchmarks.client_options import ClientOptions
from servesweep.loadgen.spec import LoadSpec
from servesweep.topology.deployment import Command

# Options of a recipe that the client's spec has under the same name.
SAME = (
    "max_failed_fraction", "min_duration_s", "slo", "seed", "ignore_eos", "temperature", "extra_body",
    "request_timeout_s", "goodput", "min_output_fraction", "max_input_deviation", "max_one_piece_fraction",
    "max_client_lag_ms",
)  # fmt: skip
# Options that change no number: they are no part of a point's identity.
HARMLESS = frozenset({"client_processes"})


def client_command(load: Load, options: ClientOptions, context: BenchmarkContext, **fields: Any) -> Command:
    """Write the load as a file and call the client on it; `fields` are the spec's that the type decides."""
    tokenizer, named_class = tokenizer_of(options)
    if named_class is not None:
        tokenizer = context.deployment.model_source or context.deployment.model_path
    spec = LoadSpec.model_validate(
        {
            **options.model_dump(include=set(SAME)),
            **gpu_counts(context),
            "configuration": context.configuration,
            "point": load.id,
            "digest": context.digest,
            "url": context.url,
            "model": context.deployment.served_model,
            "tokenizer": tokenizer or context.tokenizer,
            "tokenizer_class": named_class,
            "concurrency": load.concurrency,
            "request_rate": float(load.request_rate or "inf"),
            "repeat": load.repeat,
            "processes": options.client_processes,
            **fields,
        }
    )
    file = f"{context.directory}/load.json"
    argv = ("python3", "-m", "servesweep.loadgen", file, "--output", context.output)
    return Command(
        argv=argv,
        env=context.environment,
        files={file: json.dumps(spec.model_dump(mode="json"), indent=1)},
    )


def tokenizer_of(options: ClientOptions) -> tuple[str | None, str | None]:
    """The recipe's own tokenizer: its directory or file, and its class, where it names one of them."""
    named = options.custom_tokenizer
    if named is None:
        return None, None
    is_class = "/" not in named and "." in named and not named.endswith(".json")
    return (None, named) if is_class else (named, None)


def tokenizer_files(options: ClientOptions) -> dict[str, str]:
    """The file of the recipe's own tokenizer, which makes the prompts."""
    directory, _ = tokenizer_of(options)
    if directory is None:
        return {}
    whole = directory.endswith(".json")
    return {"custom_tokenizer": directory if whole else f"{directory}/tokenizer.json"}


def tokenizer_packages(options: ClientOptions) -> dict[str, str]:
    """The package of the recipe's own tokenizer class."""
    _, named = tokenizer_of(options)
    return {"custom_tokenizer": named.partition(".")[0]} if named else {}


def gpu_counts(context: BenchmarkContext) -> dict[str, int]:
    """GPUs that the workers hold: the denominators of every per-GPU number."""
    by_mode = dict.fromkeys(("prefill", "decode", "agg"), 0)
    for process in context.deployment.processes:
        by_mode[process.mode] += len(process.gpus)
    counts = {"total_gpus": sum(by_mode.values())}
    return counts | {"prefill_gpus": by_mode["prefill"], "decode_gpus": by_mode["decode"]}


def repeats_of(name: str, repeats: int) -> list[str]:
    """Names of the repeats of one level; the first has the level's own name."""
    return [f"{name}-k{repeat}" if repeat else name for repeat in range(repeats)]
