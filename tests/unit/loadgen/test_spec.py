from __future__ import annotations

import json
import math
from typing import Any

import pytest
from pydantic import ValidationError

from servesweep.loadgen.processes import process_count, shares
from servesweep.loadgen.spec import LoadSpec


def test_every_field_has_a_description() -> None:
    assert [name for name, field in LoadSpec.model_fields.items() if not field.description] == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"api": "chat"}, "api"),
        ({"tokenizer": "/models/llama"}, "tokenizer"),
        ({"random_range_ratio": 0.0}, "random_range_ratio"),
        ({"random_range_ratio": 1.0}, "random_range_ratio"),
        ({"request_rate": 2.5}, "request_rate"),
        ({"request_rate": "inf"}, "request_rate"),
        ({"num_warmup": 8}, "num_warmup"),
        ({"warmup_request_rate": "inf"}, "warmup_request_rate"),
        ({"seed": 7}, "seed"),
        ({"repeat": 2}, "repeat"),
        ({"ignore_eos": False}, "ignore_eos"),
        ({"temperature": 0.7}, "temperature"),
        ({"extra_body": {"top_p": 0.9, "chat_template_kwargs": {"thinking": True}}}, "extra_body"),
        ({"request_timeout_s": 30.0}, "request_timeout_s"),
        ({"processes": 3}, "processes"),
        ({"total_gpus": 12, "prefill_gpus": 4, "decode_gpus": 8}, "decode_gpus"),
        ({"max_failed_fraction": 0.05}, "max_failed_fraction"),
        ({"min_output_fraction": 0.9}, "min_output_fraction"),
        ({"goodput": {"ttft": 500.0, "tpot": 20.0}}, "goodput"),
        ({"concurrency": None, "request_rate": 4.0}, "concurrency"),
    ],
)
def test_right_values_survive_json_unchanged(make_spec: Any, changes: dict[str, Any], field: str) -> None:
    spec = make_spec(**changes)
    assert json.loads(spec.model_dump_json())[field] == changes[field]
    assert LoadSpec.model_validate_json(spec.model_dump_json()) == spec


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"configuration": ""}, "configuration"),
        ({"point": ""}, "point"),
        ({"digest": None}, "digest"),
        ({"url": "host:8000"}, "must look like http://host:port"),
        ({"url": "http://host:8000/v1"}, "without a path"),
        ({"model": ""}, "model"),
        ({"api": "responses"}, "'completions' or 'chat'"),
        ({"tokenizer": 5}, "tokenizer"),
        ({"isl": 0}, "isl"),
        ({"osl": 0}, "osl"),
        ({"random_range_ratio": 1.1}, "random_range_ratio"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": None}, "give a concurrency or a finite request_rate"),
        ({"request_rate": 0}, "request_rate"),
        ({"request_rate": "nan"}, "request_rate"),
        ({"num_prompts": 0}, "num_prompts"),
        ({"num_warmup": -1}, "num_warmup"),
        ({"warmup_request_rate": 0}, "warmup_request_rate"),
        ({"seed": -1}, "seed"),
        ({"repeat": -1}, "repeat"),
        ({"ignore_eos": "perhaps"}, "ignore_eos"),
        ({"temperature": -0.1}, "temperature"),
        ({"extra_body": {"stream": False, "n": 2}}, "may not set n, stream"),
        ({"request_timeout_s": 0}, "request_timeout_s"),
        ({"processes": 0}, "processes"),
        ({"total_gpus": 8, "prefill_gpus": 4, "decode_gpus": 8}, "more than total_gpus"),
        ({"prefill_gpus": -1}, "prefill_gpus"),
        ({"max_failed_fraction": 1.0}, "max_failed_fraction"),
        ({"min_output_fraction": 0}, "min_output_fraction"),
        ({"goodput": {"latency": 5}}, "goodput"),
        ({"goodput": {"ttft": 0}}, "above 0 ms"),
        ({"concurency": 4}, "concurency"),
    ],
)
def test_wrong_values_are_refused_by_name(make_spec: Any, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        make_spec(**changes)
    assert words in str(caught.value)


def test_infinity_is_spelled_inf(make_spec: Any) -> None:
    spec = make_spec(request_rate="inf")
    assert math.isinf(spec.request_rate)
    assert json.loads(spec.model_dump_json())["request_rate"] == "inf"


def test_the_api_decides_the_path(make_spec: Any) -> None:
    assert make_spec(url="http://host:8000/").endpoint == "http://host:8000/v1/completions"
    assert make_spec(api="chat").endpoint == "http://host:8000/v1/chat/completions"


@pytest.mark.parametrize(
    ("load", "cpus", "processes"),
    [
        ({"concurrency": 1, "num_prompts": 10}, 64, 1),
        ({"concurrency": 128, "num_prompts": 1000}, 64, 1),
        ({"concurrency": 1024, "num_prompts": 9999}, 64, 8),
        ({"concurrency": 1024, "num_prompts": 9999}, 2, 2),
        ({"concurrency": 1024, "num_prompts": 9999, "request_rate": 1.0, "osl": 1000}, 64, 1),
        ({"concurrency": None, "num_prompts": 9999, "request_rate": 100.0, "osl": 1000}, 64, 5),
        ({"concurrency": 1024, "num_prompts": 3}, 64, 3),
        ({"concurrency": 2, "num_prompts": 9, "processes": 5}, 64, 2),
        ({"concurrency": 9, "num_prompts": 9, "processes": 5}, 2, 5),
    ],
)
def test_processes_follow_the_load(make_spec: Any, load: dict[str, Any], cpus: int, processes: int) -> None:
    assert process_count(make_spec(**load), cpus) == processes


def test_shares_sum_to_the_whole() -> None:
    assert shares(10, 3) == [4, 3, 3]
    assert all(sum(shares(n, p)) == n for n in range(1, 40) for p in range(1, n + 1))
