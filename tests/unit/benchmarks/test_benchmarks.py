"""Options, points and client commands of every benchmark type."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from servesweep.benchmarks import BENCHMARKS, BenchmarkContext
from servesweep.benchmarks.shared_options import SharedOptions
from servesweep.loadgen.spec import LoadSpec
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.section import Section
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_section
from servesweep.recipe.variants import expand
from servesweep.topology.deployment import Binding, Deployment
from servesweep.topology.shapes import Mode, ProcessPlace

NEEDED = {
    "sa-bench": "isl: 128, osl: 32, concurrencies: 4",
    "sglang-bench": "isl: 8, osl: 8, concurrencies: 4",
    "trace-replay": "trace_file: /t.jsonl, concurrencies: 4",
    "lm-eval": "task: arc_easy",
    "custom": "command: run it",
}


def read(kind: str, written: str) -> Section:
    (variant,) = expand(parse(f"benchmark: {{{written}}}\n", "r.yaml"))
    return read_section(BENCHMARKS[kind].Options, variant.data["benchmark"], variant, ("benchmark",))


def options(kind: str, written: str = "") -> Section:
    """Options with what the type needs, where it is not written."""
    needed = ", ".join(
        part
        for part in NEEDED.get(kind, "").split(", ")
        if part.split(":")[0] + ":" not in written and "task_file" not in written
    )
    return read(kind, ", ".join(part for part in (needed, written) if part))


RIGHT: list[tuple[str, str, str, Any]] = [
    ("sa-bench", "isl: 1024", "isl", 1024),
    ("sa-bench", "osl: 8", "osl", 8),
    ("sa-bench", "concurrencies: 8", "concurrencies", [8]),
    ("sa-bench", 'concurrencies: "8"', "concurrencies", [8]),
    ("sa-bench", "concurrencies: 1x4x16", "concurrencies", [1, 4, 16]),
    ("sa-bench", "concurrencies: [4, 1]", "concurrencies", [4, 1]),
    ("sa-bench", 'concurrencies: ["4", 1]', "concurrencies", [4, 1]),
    ("sa-bench", "req_rate: inf", "req_rate", [math.inf]),
    ("sa-bench", "req_rate: .inf", "req_rate", [math.inf]),
    ("sa-bench", "req_rate: 2", "req_rate", [2.0]),
    ("sa-bench", 'req_rate: [inf, "2.5", 4]', "req_rate", [math.inf, 2.5, 4.0]),
    ("sa-bench", "random_range_ratio: 1", "random_range_ratio", 1),
    ("sa-bench", "num_prompts_mult: 5", "num_prompts_mult", 5),
    ("sa-bench", "num_warmup_mult: 0", "num_warmup_mult", 0),
    ("sa-bench", "repeats: 3", "repeats", 3),
    ("sa-bench", "seed: 7", "seed", 7),
    ("sa-bench", "api: chat", "api", "chat"),
    ("sa-bench", "ignore_eos: false", "ignore_eos", False),
    ("sa-bench", "temperature: 0.7", "temperature", 0.7),
    ("sa-bench", "extra_body: {top_p: 0.9}", "extra_body", {"top_p": 0.9}),
    ("sa-bench", "request_timeout_s: 30", "request_timeout_s", 30),
    ("sa-bench", "max_failed_fraction: 0.01", "max_failed_fraction", 0.01),
    ("sa-bench", "custom_tokenizer: /tok", "custom_tokenizer", "/tok"),
    ("sa-bench", "client_processes: 2", "client_processes", 2),
    ("sa-bench", "goodput: {ttft: 500, tpot: 20}", "goodput", {"ttft": 500, "tpot": 20}),
    ("sa-bench", "min_output_fraction: 0.9", "min_output_fraction", 0.9),
    ("sa-bench", "use_chat_template: true", "use_chat_template", True),
    ("sa-bench", "dataset_name: random", "dataset_name", "random"),
    ("sa-bench", "dataset_name: custom, dataset_path: /p.jsonl", "dataset_path", "/p.jsonl"),
    ("sa-bench", "dataset_name: sharegpt, dataset_path: /p, salt_prompts: false", "salt_prompts", False),
    (
        "sa-bench",
        "slo: {ttft_p99_ms: 500, output_tok_s_per_user: 30}",
        "slo",
        {"ttft_p99_ms": 500, "output_tok_s_per_user": 30},
    ),
    ("sa-bench", "min_duration_s: 30", "min_duration_s", 30),
    ("sa-bench", "max_input_deviation: 0.02", "max_input_deviation", 0.02),
    ("sa-bench", "max_one_piece_fraction: 0.1", "max_one_piece_fraction", 0.1),
    ("sa-bench", "max_client_lag_ms: 5", "max_client_lag_ms", 5),
    ("sa-bench", "reuse_http_connections: true", "reuse_http_connections", True),
    ("sa-bench", "slow_down_sleep_time: 30.0", "slow_down_sleep_time", 30.0),
    ("sa-bench", "slow_down_wait_time: 120", "slow_down_wait_time", 120),
    ("custom", "command: run it", "command", "run it"),
    ("custom", "env: {A: 1}", "env", {"A": "1"}),
    ("custom", "container_image: client", "container_image", "client"),
    ("manual", "concurrencies: 1x2", "concurrencies", [1, 2]),
    ("gsm8k", "num_shots: 8, temperature: 0.6", "num_shots", 8),
    ("gsm8k", "top_k: 20, top_p: 0.95", "top_p", 0.95),
    ("gpqa", "num_examples: 198, max_tokens: 65536, num_threads: 128, repeat: 8", "repeat", 8),
    ("mmlu", "num_examples: 200", "num_examples", 200),
    ("longbenchv2", "categories: [code]", "categories", ("code",)),
    ("trace-replay", "trace_file: /t.jsonl, concurrencies: 4x8", "concurrencies", [4, 8]),
    ("mooncake-router", "ttft_threshold_ms: 5000", "ttft_threshold_ms", 5000),
    ("router", "prefix_ratios: 0.1 0.9", "prefix_ratios", "0.1 0.9"),
    ("router", "", "ratios", [0.1, 0.3, 0.5, 0.7, 0.9]),
    ("sglang-bench", "", "req_rate", [math.inf]),
    ("sglang-bench", "", "num_prompts", 128),
    ("mooncake-router", "trace_file: /t.jsonl", "trace_file", "/t.jsonl"),
    ("gpqa", "", "repeat", 8),
    ("gsm8k", "", "num_examples", 1319),
    ("lm-eval", "task: mmlu", "task", "mmlu"),
    ("lm-eval", "task_file: tasks/mine.yaml", "task_file", "tasks/mine.yaml"),
    ("agentperf", "agentperf_config: /a.yaml", "agentperf_config", "/a.yaml"),
    ("manual", "serve_seconds: 60", "serve_seconds", 60),
    ("manual", "", "serve_seconds", None),
]

LEVELS = "concurrencies: expected whole numbers from 1, as a list or as text like 1x2x4, got"
RATES = "req_rate: expected inf or requests per second above 0, one number or a list like [1, 2.5, inf], got"

WRONG: list[tuple[str, str, str]] = [
    ("sa-bench", "isl: 0", "isl: expected a number from 1, got 0"),
    ("sa-bench", "osl: 1k", "osl: expected a whole number, got '1k'"),
    ("sa-bench", "concurrencies: 0", f"{LEVELS} 0"),
    ("sa-bench", "concurrencies: [1, two]", f"{LEVELS} 'two'"),
    ("sa-bench", "concurrencies: 1x-4", f"{LEVELS} '-4'"),
    ("sa-bench", "concurrencies: 2x", f"{LEVELS} '2x'"),
    ("sa-bench", "concurrencies: [1, 2.0]", f"{LEVELS} 2.0"),
    ("sa-bench", "concurrencies: [true]", f"{LEVELS} true"),
    ("sa-bench", "concurrencies: {a: 1}", f"{LEVELS} a mapping"),
    ("sa-bench", "concurrencies: []", "concurrencies: at least one concurrency is needed"),
    ("sa-bench", "concurrencies: ", "concurrencies: the key has no value: write one, or remove the key"),
    ("sa-bench", "req_rate: fast", f"{RATES} 'fast'"),
    ("sa-bench", "req_rate: 0", f"{RATES} 0"),
    ("sa-bench", "req_rate: [1, .nan]", f"{RATES} .nan"),
    ("sa-bench", "req_rate: [true]", f"{RATES} true"),
    ("sa-bench", "req_rate: []", "req_rate: at least one request rate is needed"),
    ("sa-bench", "random_range_ratio: 1.5", "random_range_ratio: expected a number up to 1, got 1.5"),
    ("sa-bench", "num_prompts_mult: 0", "num_prompts_mult: expected a number from 1, got 0"),
    ("sa-bench", "num_warmup_mult: -1", "num_warmup_mult: expected a number from 0, got -1"),
    ("sa-bench", "repeats: 0", "repeats: expected a number from 1, got 0"),
    ("sa-bench", "seed: -1", "seed: expected a number from 0, got -1"),
    ("sa-bench", "api: completion",
     "api: expected completions or chat, got 'completion'; did you mean completions?"),
    ("sa-bench", "ignore_eos: no", "ignore_eos: expected true or false, got 'no'"),
    ("sa-bench", "temperature: hot", "temperature: expected a number, got 'hot'"),
    ("sa-bench", "extra_body: {model: x, stream: true}",
     "extra_body: the client sets model and stream in each request: remove it"),
    ("sa-bench", "request_timeout_s: 0", "request_timeout_s: expected a number above 0, got 0"),
    ("sa-bench", "max_failed_fraction: 1", "max_failed_fraction: expected a number below 1, got 1"),
    ("sa-bench", "custom_tokenizer: 8",
     'custom_tokenizer: expected text, got the number 8: write it in quotes, "8"'),
    ("sa-bench", "client_processes: 0", "client_processes: expected a number from 1, got 0"),
    ("sa-bench", "concurrency: 4", "concurrency: unknown key; did you mean concurrencies?"),
    ("custom", 'command: ""', "command: the text is empty"),
    ("custom", "env: {A: true}",
     'env.A: programs read true and false in many spellings: write the text meant, "true" or "1"'),
    ("manual", "serve_seconds: 0", "serve_seconds: expected a number above 0, got 0"),
    ("manual", "isl: 8", "isl: unknown key; known here: aiperf_args, aiperf_package, concurrencies,"
     " serve_seconds, stream_output"),
    ("manual", "concurrencies: many", f"{LEVELS} 'many'"),
    ("custom", "container_image: 8",
     'container_image: expected text, got the number 8: write it in quotes, "8"'),
    ("sa-bench", "goodput: {ttft: fast}", "goodput.ttft: expected a number, got 'fast'"),
    ("sa-bench", "min_output_fraction: 2", "min_output_fraction: expected a number up to 1, got 2"),
    ("sa-bench", "use_chat_template: no", "use_chat_template: expected true or false, got 'no'"),
    ("sa-bench", "use_chat_template: true, api: completions",
     "api: use_chat_template and api: completions contradict each other: keep one"),
    ("sa-bench", "dataset_name: mine", "dataset_name: expected random, sharegpt or custom, got 'mine'"),
    ("sa-bench", "dataset_name: sharegpt", "dataset_path: the sharegpt dataset needs its file"),
    ("sa-bench", "dataset_name: random, dataset_path: 8",
     'dataset_path: expected text, got the number 8: write it in quotes, "8"'),
    ("sa-bench", "salt_prompts: 1", "salt_prompts: expected true or false, got 1"),
    ("sa-bench", "slo: {p99_ttft_ms: 60}",
     "slo.p99_ttft_ms: 'p99_ttft_ms' is no objective; did you mean ttft_p99_ms?"),
    ("sa-bench", "slo: {ttft_p98_ms: 500}",
     "slo.ttft_p98_ms: 'ttft_p98_ms' is no objective: they are like ttft_p99_ms"
     " (ttft, tpot, itl, e2el; mean, median, p50, p90, p95, p99) or output_tok_s_per_user,"
     " output_throughput_tok_s, request_throughput_per_s"),
    ("sa-bench", "slo: {ttft_p99_ms: 0}", "slo.ttft_p99_ms: expected a number above 0, got 0.0"),
    ("sa-bench", "min_duration_s: -1", "min_duration_s: expected a number from 0, got -1"),
    ("sa-bench", "max_input_deviation: -1", "max_input_deviation: expected a number from 0, got -1"),
    ("sa-bench", "max_one_piece_fraction: 2", "max_one_piece_fraction: expected a number up to 1, got 2"),
    ("sa-bench", "max_client_lag_ms: 0", "max_client_lag_ms: expected a number above 0, got 0"),
    ("router", "prefix_ratios: 0.1 1", "prefix_ratios: expected shares from 0 to below 1, as 0.1 0.5 0.9,"
     " got '1'"),
    ("router", 'prefix_ratios: " "', "prefix_ratios: at least one ratio is needed"),
    ("router", "concurrencies: 4", "concurrencies: unknown key; did you mean concurrency?"),
    ("lm-eval", "task_file: b, task: a", "task: name one of task and task_file"),
    ("gpqa", "repeat: 0", "repeat: expected a number from 1, got 0"),
    ("sa-bench", "dataset_name: custom", "dataset_path: the custom dataset needs its file"),
    ("sa-bench", "reuse_http_connections: 1", "reuse_http_connections: expected true or false, got 1"),
    ("sa-bench", "slow_down_sleep_time: -1", "slow_down_sleep_time: expected a number from 0, got -1"),
    ("sa-bench", "slow_down_wait_time: -1", "slow_down_wait_time: expected a number from 0, got -1"),
    ("gsm8k", "num_examples: 0", "num_examples: expected a number from 1, got 0"),
    ("mooncake-router", "mooncake_workload: chat",
     "mooncake_workload: expected mooncake, conversation, synthetic or toolagent, got 'chat'"),
    ("trace-replay", "trace_file: 8",
     'trace_file: expected text, got the number 8: write it in quotes, "8"'),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "written", "name", "meant"), RIGHT)
def test_an_option_is_read(kind: str, written: str, name: str, meant: Any) -> None:
    assert getattr(options(kind, written), name) == meant


@pytest.mark.parametrize(("kind", "written", "sentence"), WRONG)
def test_a_fault_is_one_line(kind: str, written: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        options(kind, written)
    assert str(caught.value) == f"r.yaml:1: benchmark.{sentence}"


SHARED = set(SharedOptions.model_fields)


@pytest.mark.parametrize("kind", ["sa-bench", "custom", "manual"])
def test_the_tables_above_name_every_option(kind: str) -> None:
    fields = set(BENCHMARKS[kind].Options.model_fields) - SHARED
    assert fields == {row[2] for row in RIGHT if row[0] == kind}
    assert fields <= {row[2].partition(":")[0].partition(".")[0] for row in WRONG if row[0] == kind}


@pytest.mark.parametrize("kind", BENCHMARKS)
@pytest.mark.parametrize("written", ["aiperf_package: 0.3.1b", "aiperf_args: {a: 1}", "stream_output: true"])
def test_every_type_takes_what_is_shared(kind: str, written: str) -> None:
    assert set(BENCHMARKS[kind].Options.model_fields) >= SHARED
    key = written.partition(":")[0]
    assert getattr(options(kind, written), key)


def test_a_type_without_a_client_says_so() -> None:
    kind = BENCHMARKS["agentperf"]
    chosen = options("agentperf")
    assert kind.unsupported(chosen) == ["benchmark.type agentperf: its client"]
    (load,) = kind.loads(chosen)
    assert load.id == "agentperf"
    with pytest.raises(ValueError, match="agentperf: this version cannot run it yet"):
        kind.command(load, chosen, CONTEXT)


@pytest.mark.parametrize(
    "kind", [kind for kind in BENCHMARKS if kind not in ("agentperf", "mooncake-router")]
)
def test_every_other_type_is_run(kind: str) -> None:
    chosen = options(kind)
    assert BENCHMARKS[kind].unsupported(chosen) == []
    loads = BENCHMARKS[kind].loads(chosen)
    assert len({load.id for load in loads}) == len(loads) > 0
    command = BENCHMARKS[kind].command(loads[0], chosen, CONTEXT)
    assert command.argv[0] == "python3"
    (text,) = command.files.values()
    assert json.loads(text)["point"] == loads[0].id


def test_a_public_trace_is_not_downloaded() -> None:
    kind = BENCHMARKS["mooncake-router"]
    (feature,) = kind.unsupported(options("mooncake-router"))
    assert feature == "benchmark.mooncake_workload: downloading a trace, where trace_file names no file"
    assert kind.unsupported(options("mooncake-router", "trace_file: /t.jsonl")) == []


@pytest.mark.parametrize(
    ("written", "features"),
    [
        ("", []),
        ("dataset_name: custom, dataset_path: /p", []),
        ("slow_down_sleep_time: 3", ["benchmark.slow_down_sleep_time: a slow start of decode"]),
        ("custom_tokenizer: sa_bench_tokenizers.deepseek.Tokenizer", []),
        ("custom_tokenizer: ./tok", []),
    ],
)
def test_what_sa_bench_cannot_do_is_said(written: str, features: list[str]) -> None:
    assert BENCHMARKS["sa-bench"].unsupported(options("sa-bench", written)) == features


def test_the_chat_template_is_the_servers() -> None:
    chosen = options("sa-bench", "use_chat_template: true")
    (load,) = BENCHMARKS["sa-bench"].loads(chosen)
    (text,) = BENCHMARKS["sa-bench"].command(load, chosen, CONTEXT).files.values()
    assert json.loads(text)["api"] == "chat"
    # The same load in other words is the same point.
    assert BENCHMARKS["sa-bench"].loads(options("sa-bench", "api: chat")) == [load]


def test_what_is_needed_is_asked_for() -> None:
    with pytest.raises(RecipeError) as caught:
        read("sa-bench", "")
    assert [problem.key for problem in caught.value.problems] == [
        "benchmark.isl", "benchmark.osl", "benchmark.concurrencies",
    ]  # fmt: skip
    with pytest.raises(RecipeError, match=r"benchmark\.command: required key is missing"):
        read("custom", "")
    with pytest.raises(RecipeError, match=r"benchmark\.trace_file: required key is missing"):
        read("trace-replay", "concurrencies: 4")
    with pytest.raises(RecipeError, match=r"benchmark\.task: name one of task and task_file"):
        read("lm-eval", "")


def place(mode: Mode, index: int, rank: int, node: str, port: int | None) -> ProcessPlace:
    return ProcessPlace(mode, index, rank, node, tuple(range(8)), (node,), 7500, 5400, 17500, 20000, port)


DEPLOYMENT = Deployment(
    model_path="/models/llama",
    served_model="llama",
    transport="http",
    gpus_per_node=8,
    processes=(
        place("prefill", 0, 0, "n0", 6100),
        place("decode", 0, 0, "n1", 6100),
        place("decode", 0, 1, "n2", None),
        place("decode", 1, 0, "n3", 6100),
    ),
    head="n0",
    frontend="n0",
    infra="n0",
    public_port=8000,
    binding=Binding(addresses={f"n{number}": f"10.0.0.{number}" for number in range(4)}),
)
CONTEXT = BenchmarkContext(
    configuration="demo",
    digest="0123456789abcdef",
    url="http://10.0.0.0:8000",
    deployment=DEPLOYMENT,
    tokenizer="/models/llama",
    directory="/results/demo/points/c4",
    output="/results/demo/points/c4/result.json",
    environment={"HF_HUB_OFFLINE": "1"},
)


def test_points_of_sa_bench() -> None:
    chosen = options("sa-bench", "concurrencies: 1x4, req_rate: [inf, 0.5], repeats: 2")
    assert [load.id for load in BENCHMARKS["sa-bench"].loads(chosen)] == [
        "c1", "c4", "c1-r0.5", "c4-r0.5", "c1-k1", "c4-k1", "c1-r0.5-k1", "c4-r0.5-k1",
    ]  # fmt: skip


def test_close_rates_are_points_of_their_own() -> None:
    chosen = options("sa-bench", "req_rate: [1.0000001, 1.0000002]")
    assert [load.id for load in BENCHMARKS["sa-bench"].loads(chosen)] == ["c4-r1.0000001", "c4-r1.0000002"]


def test_the_client_of_a_point_gets_its_whole_load_in_a_file() -> None:
    chosen = options(
        "sa-bench", "req_rate: 2.5, num_prompts_mult: 5, num_warmup_mult: 1, seed: 3, client_processes: 2"
    )
    (load,) = BENCHMARKS["sa-bench"].loads(chosen)
    command = BENCHMARKS["sa-bench"].command(load, chosen, CONTEXT)
    assert " ".join(command.argv) == (
        "python3 -m servesweep.loadgen /results/demo/points/c4/load.json"
        " --output /results/demo/points/c4/result.json"
    )
    assert command.env == {"HF_HUB_OFFLINE": "1"}
    ((file, text),) = command.files.items()
    assert file == "/results/demo/points/c4/load.json"
    assert LoadSpec.model_validate_json(text) == LoadSpec.model_validate(
        {
            "configuration": "demo",
            "point": "c4-r2.5",
            "digest": "0123456789abcdef",
            "url": "http://10.0.0.0:8000",
            "model": "llama",
            "tokenizer": "/models/llama",
            "isl": 128,
            "osl": 32,
            "concurrency": 4,
            "request_rate": 2.5,
            "num_prompts": 20,
            "num_warmup": 4,
            "seed": 3,
            "processes": 2,
            "total_gpus": 32,
            "prefill_gpus": 8,
            "decode_gpus": 24,
        }
    )


def test_a_tokenizer_of_its_own_wins_over_the_models() -> None:
    chosen = options("sa-bench", "custom_tokenizer: /tok")
    (load,) = BENCHMARKS["sa-bench"].loads(chosen)
    (text,) = BENCHMARKS["sa-bench"].command(load, chosen, CONTEXT).files.values()
    assert json.loads(text)["tokenizer"] == "/tok"
    assert json.loads(text)["request_rate"] == "inf"


def test_a_custom_command_finds_the_deployment_in_its_environment() -> None:
    chosen = options("custom", "env: {MINE: 1, SERVESWEEP_MODEL: other}")
    (load,) = BENCHMARKS["custom"].loads(chosen)
    command = BENCHMARKS["custom"].command(load, chosen, CONTEXT)
    assert command.argv == (
        "python3", "-m", "servesweep.loadgen.custom", "/results/demo/points/c4/custom.json",
        "--output", "/results/demo/points/c4/result.json",
    )  # fmt: skip
    assert command.env == {
        "HF_HUB_OFFLINE": "1",
        "SRT_FRONTEND_HOST": "10.0.0.0",
        "SRT_FRONTEND_PORT": "8000",
        "SRT_PREFILL_IPS": "10.0.0.0",
        "SRT_PREFILL_ENDPOINTS": "10.0.0.0:6100",
        "SRT_DECODE_IPS": "10.0.0.1,10.0.0.3",
        "SRT_DECODE_ENDPOINTS": "10.0.0.1:6100,10.0.0.3:6100",
        "AIPERF_SERVER_METRICS_URLS": (
            "http://10.0.0.0:6100/metrics,http://10.0.0.1:6100/metrics,http://10.0.0.3:6100/metrics"
        ),
        "SRT_GPUS_PER_NODE": "8",
        "SRT_WORKER_NODES": "n0,n1,n2,n3",
        "SERVESWEEP_MODEL": "other",
        "MINE": "1",
    }
    assert json.loads(command.files["/results/demo/points/c4/custom.json"]) == {
        "configuration": "demo",
        "point": "custom",
        "digest": "0123456789abcdef",
        "model": "llama",
        "command": "run it",
    }


def test_nothing_public_gives_no_frontend_in_the_environment() -> None:
    chosen = options("custom")
    (load,) = BENCHMARKS["custom"].loads(chosen)
    command = BENCHMARKS["custom"].command(load, chosen, replace(CONTEXT, url=None))
    assert not any(name.startswith("SRT_FRONTEND") for name in command.env)


@pytest.mark.parametrize(
    ("written", "command"), [("serve_seconds: 2.5", "exec sleep 2.5"), ("", "exec sleep infinity")]
)
def test_manual_only_waits(written: str, command: str) -> None:
    chosen = options("manual", written)
    (load,) = BENCHMARKS["manual"].loads(chosen)
    (text,) = BENCHMARKS["manual"].command(load, chosen, CONTEXT).files.values()
    assert (load.id, json.loads(text)["command"]) == ("manual", command)


def spec_of(kind: str, written: str, number: int = 0) -> LoadSpec:
    """What the client of a point reads."""
    chosen = options(kind, written)
    load = BENCHMARKS[kind].loads(chosen)[number]
    (text,) = BENCHMARKS[kind].command(load, chosen, CONTEXT).files.values()
    return LoadSpec.model_validate_json(text)


def test_a_file_of_prompts_needs_no_lengths() -> None:
    chosen = read("sa-bench", "dataset_name: custom, dataset_path: /p.jsonl, concurrencies: 4")
    (load,) = BENCHMARKS["sa-bench"].loads(chosen)
    (text,) = BENCHMARKS["sa-bench"].command(load, chosen, CONTEXT).files.values()
    spec = LoadSpec.model_validate_json(text)
    assert (str(spec.dataset_path), spec.isl, spec.osl, spec.salt) == ("/p.jsonl", None, None, True)
    assert BENCHMARKS["sa-bench"].named_files(chosen) == {"dataset_path": "/p.jsonl"}
    assert BENCHMARKS["sa-bench"].unread(chosen) == {}


def test_limits_and_objectives_reach_the_client() -> None:
    written = "slo: {ttft_p99_ms: 500}, min_duration_s: 9, max_client_lag_ms: 3, max_input_deviation: 0.1"
    for kind in ("sa-bench", "sglang-bench", "router"):
        spec = spec_of(kind, written)
        assert spec.slo == {"ttft_p99_ms": 500}
        assert (spec.min_duration_s, spec.max_client_lag_ms, spec.max_input_deviation) == (9, 3, 0.1)


def test_an_objective_is_part_of_what_is_measured_and_its_absence_of_nothing() -> None:
    (plain,) = BENCHMARKS["sa-bench"].loads(options("sa-bench"))
    assert plain.facts == {"isl": 128, "osl": 32, "api": "completions"}


def test_sglang_bench_sends_as_many_requests_at_each_level() -> None:
    spec = spec_of("sglang-bench", "concurrencies: 1x64", 1)
    assert (spec.concurrency, spec.num_prompts, spec.num_warmup) == (64, 128, 1)
    assert spec.random_range_ratio == 0.0


def test_the_points_of_router_are_its_ratios() -> None:
    chosen = options("router", "isl: 100, prefix_ratios: 0 0.5")
    assert [load.id for load in BENCHMARKS["router"].loads(chosen)] == ["prefix0", "prefix0.5"]
    spec = spec_of("router", "isl: 100, prefix_ratios: 0 0.5", 1)
    assert (spec.prefix_ratio, spec.num_prefixes, spec.concurrency, spec.num_prompts) == (0.5, 20, 20, 200)


def test_a_tokenizer_class_is_asked_for_its_package_and_given_the_model() -> None:
    chosen = options("sa-bench", "custom_tokenizer: my_tokenizers.v4.Tokenizer")
    assert BENCHMARKS["sa-bench"].packages(chosen) == {"custom_tokenizer": "my_tokenizers"}
    assert BENCHMARKS["sa-bench"].named_files(chosen) == {}
    spec = spec_of("sa-bench", "custom_tokenizer: my_tokenizers.v4.Tokenizer")
    assert (spec.tokenizer_class, str(spec.tokenizer)) == ("my_tokenizers.v4.Tokenizer", "/models/llama")


def test_the_data_beside_a_task_is_part_of_its_identity(tmp_path: Path) -> None:
    task, data = tmp_path / "mine.yaml", tmp_path / "mine.jsonl"
    task.write_text("task: mine\n")
    data.write_text("{}\n")
    chosen = options("lm-eval", f"task_file: {task}")
    assert BENCHMARKS["lm-eval"].files(chosen) == [str(task), str(data)]
    assert BENCHMARKS["lm-eval"].named_files(chosen) == {"task_file": str(task)}


def test_a_set_that_is_asked_several_times_is_several_points() -> None:
    loads = BENCHMARKS["gpqa"].loads(options("gpqa", "repeat: 3"))
    assert [load.id for load in loads] == ["gpqa", "gpqa-k1", "gpqa-k2"]
    assert [load.repeat for load in loads] == [0, 1, 2]


@pytest.mark.parametrize(
    ("kind", "package"),
    [("trace-replay", "aiperf"), ("mooncake-router", "aiperf"), ("gsm8k", "lm_eval"), ("lm-eval", "lm_eval")],
)
def test_an_extra_is_asked_for(kind: str, package: str) -> None:
    assert BENCHMARKS[kind].packages(options(kind)) == {"type": package}
