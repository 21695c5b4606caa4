"""`benchmark`: the client's place, and the fields that a type never read."""

from __future__ import annotations

from servesweep.migration.folding import settle_place, tidy
from servesweep.migration.remarks import ATTENTION
from servesweep.migration.scope import ABSENT, Data, Scope, get

LENGTHS = ("isl", "osl")
ACCURACY = ("num_examples", "max_tokens", "repeat", "num_threads")
GOODPUT = ("ttft_threshold_ms", "itl_threshold_ms")
SHARED = (
    "type", "placement", "colocate_with_frontend", "stream_output", "concurrencies", "aiperf_package",
    "aiperf_args",
)  # fmt: skip
FIELDS: dict[str, tuple[str, ...]] = {
    "manual": (),
    "custom": ("command", "container_image", "env"),
    "sa-bench": (
        *LENGTHS, "req_rate", "random_range_ratio", "num_prompts_mult", "num_warmup_mult", "custom_tokenizer",
        "use_chat_template", "dataset_name", "dataset_path", "reuse_http_connections",
        "slow_down_sleep_time", "slow_down_wait_time",
    ),
    "sglang-bench": (*LENGTHS, "req_rate"),
    "trace-replay": ("trace_file", "custom_tokenizer", *GOODPUT),
    "mooncake-router": ("mooncake_workload", *GOODPUT),
    "router": (*LENGTHS, "num_requests", "concurrency", "prefix_ratios"),
    "mmlu": ACCURACY,
    "gpqa": ACCURACY,
    "gsm8k": (*ACCURACY, "num_shots", "temperature", "top_p", "top_k"),
    "longbenchv2": ("max_context_length", "num_threads", "max_tokens", "num_examples", "categories"),
    "lm-eval": (),
    "agentperf": ("agentperf_client_dir", "agentperf_config", "concurrency", "env"),
}  # fmt: skip
RETIRED = ("export_node_metrics", "sweep")
PLACES = ("client_placement", "client_dedicated_node")


def migrate_benchmark(scope: Scope) -> None:
    """Write the client's placement and remove what the type does not use, which v2 refuses."""
    block = scope.section("benchmark")
    types = {kind(old) for old in scope.old}
    if block is not None:
        for entry in list(block.entries):
            if entry.key in RETIRED:
                scope.drop(block, entry, "benchmark.", "v2 has no place for it")
            elif (
                entry.key not in PLACES
                and not any(uses(name, entry.key) for name in types)
                and scope.label != "base"
                and not scope.modern
            ):
                _unused(scope, entry.key, types)
        first = block.get("type")
        unknown = sorted(name for name in types if name not in FIELDS)
        if unknown and first is not None and not scope.modern:
            sentence = f"{unknown[0]} is no type of benchmark that v1 or v2 knows"
            first.note(scope.say(sentence, ATTENTION))
    settle_place(scope, "benchmark", *PLACES)
    if scope.over and not scope.modern:
        for key in get(scope.base, "benchmark") or {}:
            if not any(uses(name, key) for name in types):
                scope.settle(("benchmark", key), [ABSENT] * len(scope.old))
    tidy(scope, "benchmark")


def prune_base(scope: Scope, variants: list[Scope]) -> None:
    """Remove from a base the benchmark fields that none of its configurations uses."""
    types = {kind(old) for one in (scope, *variants) for old in one.old}
    block = scope.section("benchmark")
    for entry in list(block.entries) if block else []:
        if not any(uses(name, entry.key) for name in types):
            _unused(scope, entry.key, types)


def _unused(scope: Scope, key: str, types: set[str]) -> None:
    block = scope.section("benchmark")
    entry = block.get(key) if block else None
    if block and entry and entry.value is None:
        block.drop(entry)
    elif block and entry:
        scope.drop(block, entry, "benchmark.", _why(types))


def _why(types: set[str]) -> str:
    return f"{' and '.join(sorted(types))} {'does' if len(types) == 1 else 'do'} not use it"


def kind(data: Data) -> str:
    """The type of the benchmark; manual where none is given."""
    return str(get(data, "benchmark", "type") or "manual")


def uses(name: str, key: str) -> bool:
    """Whether a type reads a field; of a type that nobody knows, every field may be read."""
    return name not in FIELDS or key in SHARED or key in FIELDS[name]
