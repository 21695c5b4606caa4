"""Loads that nobody could measure, and options that change nothing."""

from typing import Any

import pytest

from servesweep.benchmarks import BENCHMARKS
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.section import Section
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_section
from servesweep.recipe.variants import expand

LOAD = "isl: 8, osl: 8, concurrencies: 4"
HUGE = "1000000000000000000000000000000"


def options(kind: str, written: str) -> Section:
    (variant,) = expand(parse(f"benchmark: {{{written}}}\n", "r.yaml"))
    return read_section(BENCHMARKS[kind].Options, variant.data["benchmark"], variant, ("benchmark",))


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("isl: 8, osl: 8, concurrencies: -1",
         "concurrencies: expected whole numbers from 1, as a list or as text like 1x2x4, got -1"),
        ("isl: 8, osl: 8, concurrencies: 1e30",
         "concurrencies: expected whole numbers from 1, as a list or as text like 1x2x4, got 1e30"),
        (f"isl: 8, osl: 8, concurrencies: {HUGE}",
         f"concurrencies: at most 1000000 requests are in flight, got {HUGE}"),
        (f"isl: 8, osl: 8, concurrencies: 4x{'9' * 5000}",
         "concurrencies: expected whole numbers from 1, as a list or as text like 1x2x4,"
         f" got '{'9' * 56}..."),
        ("isl: 8, osl: 8, concurrencies: 4x²",
         "concurrencies: expected whole numbers from 1, as a list or as text like 1x2x4, got '²'"),
        (f"isl: {HUGE}, osl: 8, concurrencies: 4", f"isl: expected a number up to 100000000, got {HUGE}"),
        (f"{LOAD}, num_prompts_mult: -1", "num_prompts_mult: expected a number from 1, got -1"),
        (f"{LOAD}, num_prompts_mult: 1e30", "num_prompts_mult: expected a whole number, got 1e30"),
        (f"{LOAD}, num_prompts_mult: {HUGE}",
         f"num_prompts_mult: expected a number up to 100000000, got {HUGE}"),
        (f"{LOAD}, num_prompts_mult: 100000000",
         "num_prompts_mult: a point has at most 100000000 requests, and the largest concurrency x this is"
         " 400000000"),
        (f"{LOAD}, num_warmup_mult: 100000000",
         "num_warmup_mult: a point has at most 100000000 requests, and the largest concurrency x this is"
         " 400000000"),
        (f"{LOAD}, seed: -1", "seed: expected a number from 0, got -1"),
        (f"{LOAD}, seed: 1e30", "seed: expected a whole number, got 1e30"),
        (f"{LOAD}, seed: {HUGE}", f"seed: expected a number up to 9223372036854775807, got {HUGE}"),
        (f"{LOAD}, repeats: 1000000000", "repeats: expected a number up to 10000, got 1000000000"),
        ("isl: 8, osl: 8, concurrencies: 1x2x4, repeats: 5000",
         "repeats: a configuration has at most 10000 points, and concurrencies x req_rate x repeats are"
         " 15000"),
        (f"{LOAD}, goodput: {{ttft: .nan}}", "goodput.ttft: expected milliseconds above 0, got nan"),
        (f"{LOAD}, goodput: {{ttft: .inf}}", "goodput.ttft: expected milliseconds above 0, got inf"),
        (f"{LOAD}, goodput: {{ttft: -1}}", "goodput.ttft: expected milliseconds above 0, got -1.0"),
        (f"{LOAD}, goodput: {{tfft: 1}}",
         "goodput.tfft: expected ttft, tpot, itl or e2el, got 'tfft'; did you mean ttft?"),
        (f"{LOAD}, temperature: .inf", "temperature: expected a number up to 100, got .inf"),
        (f"{LOAD}, request_timeout_s: .inf", "request_timeout_s: expected a number up to 604800, got .inf"),
        (f'{LOAD}, custom_tokenizer: ""', "custom_tokenizer: the text is empty"),
        (f'{LOAD}, dataset_name: custom, dataset_path: " "', "dataset_path: the text is empty"),
    ],
)  # fmt: skip
def test_a_load_that_nobody_could_measure(written: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        options("sa-bench", written)
    assert str(caught.value) == f"r.yaml:1: benchmark.{sentence}"


@pytest.mark.parametrize(
    ("kind", "written", "unread"),
    [
        ("sa-bench", LOAD, {}),
        ("sa-bench", f"{LOAD}, aiperf_args: {{a: 1}}, stream_output: true",
         {"aiperf_args": "the client is not aiperf", "stream_output": "the client is not aiperf"}),
        ("sa-bench", f"{LOAD}, dataset_path: /p", {"dataset_path": "dataset_name is random"}),
        ("sa-bench", f"{LOAD}, dataset_path: /p, dataset_name: custom",
         {"isl": "the file's prompts have lengths of their own"}),
        ("sa-bench", f"{LOAD}, slow_down_wait_time: 3",
         {"slow_down_wait_time": "slow_down_sleep_time is not set"}),
        ("sa-bench", f"{LOAD}, slow_down_wait_time: 3, slow_down_sleep_time: 1", {}),
        ("sa-bench", f"{LOAD}, reuse_http_connections: false",
         {"reuse_http_connections": "connections are always reused"}),
        ("sa-bench", f"{LOAD}, reuse_http_connections: true", {}),
        ("custom", "command: x, stream_output: true", {"stream_output": "the client is not aiperf"}),
        ("manual", "concurrencies: 1x2", {"concurrencies": "manual drives no load"}),
    ],
)  # fmt: skip
def test_an_option_without_effect_is_known_with_its_reason(
    kind: str, written: str, unread: dict[str, str]
) -> None:
    assert BENCHMARKS[kind].unread(options(kind, written)) == unread


@pytest.mark.parametrize(
    ("kind", "written", "files"),
    [
        ("sa-bench", LOAD, {}),
        ("sa-bench", f"{LOAD}, custom_tokenizer: ./tok", {"custom_tokenizer": "./tok/tokenizer.json"}),
        ("sa-bench", f"{LOAD}, custom_tokenizer: ./tok/my.json", {"custom_tokenizer": "./tok/my.json"}),
        ("sa-bench", f"{LOAD}, dataset_path: /p", {}),
        ("sa-bench", f"{LOAD}, dataset_name: custom, dataset_path: /p", {"dataset_path": "/p"}),
        ("trace-replay", "trace_file: /t, concurrencies: 1", {"trace_file": "/t"}),
        ("agentperf", "agentperf_config: /a", {"agentperf_config": "/a"}),
        ("gsm8k", "", {}),
    ],
)
def test_files_that_decide_the_numbers_are_known_by_their_keys(
    kind: str, written: str, files: dict[str, Any]
) -> None:
    chosen = options(kind, written)
    assert BENCHMARKS[kind].named_files(chosen) == files
    assert BENCHMARKS[kind].files(chosen) == list(files.values())
