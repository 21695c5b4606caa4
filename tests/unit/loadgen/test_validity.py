from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from servesweep.loadgen.saturation import Saturation
from servesweep.loadgen.statistics import Summary, summarise
from servesweep.loadgen.validity import judge, judge_client

BAD = {"status": "HTTP 500", "detail": "CUDA out of\nmemory"}


@pytest.fixture
def good(make_spec: Any, make_record: Any) -> Summary:
    return summarise(make_spec(), [make_record(float(i), (i + 0.1, i + 0.2)) for i in range(4)])


def test_a_point_whose_requests_all_completed_counts(make_spec: Any, good: Summary) -> None:
    assert judge(make_spec(), good) == []


def test_a_failed_request(make_spec: Any, make_record: Any) -> None:
    records = [make_record(float(i), (i + 0.1,)) for i in range(3)] + [make_record(5.0, (), **BAD)]
    reason = '1 of 4 requests failed: 1 HTTP 500 ("CUDA out of memory")'
    assert judge(make_spec(), summarise(make_spec(), records)) == [reason]
    assert judge(make_spec(max_failed_fraction=0.25), summarise(make_spec(), records)) == []


def test_more_failures_than_the_limit(make_spec: Any, make_record: Any) -> None:
    spec = make_spec(max_failed_fraction=0.25)
    records = [make_record(float(i), (i + 0.1,)) for i in range(2)] + [make_record(5.0, (), **BAD)] * 2
    assert judge(spec, summarise(spec, records)) == [
        '2 of 4 requests failed (at most 1 may): 2 HTTP 500 ("CUDA out of memory")'
    ]


def test_requests_that_were_never_sent(make_spec: Any, good: Summary) -> None:
    assert judge(make_spec(num_prompts=6), good) == ["2 of 6 requests were not sent"]


def test_no_output_tokens(make_spec: Any, good: Summary) -> None:
    nothing = dataclasses.replace(good, output_tokens=0)
    assert judge(make_spec(), nothing) == ["the completed requests hold no output tokens"]


def test_too_little_output(make_spec: Any, good: Summary) -> None:
    short = dataclasses.replace(good, output_tokens=50, asked_output_tokens=100)
    assert judge(make_spec(min_output_fraction=0.5), short) == []
    assert judge(make_spec(min_output_fraction=0.6), short) == [
        "only 0.500 of the asked output tokens came, at least 0.6 must"
    ]


@pytest.mark.parametrize(
    ("models", "named"), [(["other"], "'other'"), (["llama", "other"], "'other'"), ([""], "no model name")]
)
def test_another_model_answered(make_spec: Any, good: Summary, models: list[str], named: str) -> None:
    assert judge(make_spec(), dataclasses.replace(good, models=models)) == [
        f"asked 'llama', answered by {named}"
    ]


def test_a_metric_that_is_no_number(make_spec: Any, good: Summary) -> None:
    metrics = good.metrics | {"mean_itl_ms": math.nan, "p99_ttft_ms": math.inf, "mean_tpot_ms": None}
    assert judge(make_spec(), dataclasses.replace(good, metrics=metrics)) == [
        "not a finite number: mean_itl_ms, p99_ttft_ms"
    ]


def test_more_in_flight_than_asked(make_spec: Any, good: Summary) -> None:
    assert judge(make_spec(), dataclasses.replace(good, max_in_flight=5)) == [
        "5 requests were in flight, more than 4 asked"
    ]


def test_the_server_counts_other_inputs_than_were_sent(make_spec: Any, good: Summary) -> None:
    off = dataclasses.replace(good, input_tokens=440, asked_input_tokens=400)
    assert judge(make_spec(), off) == []
    assert judge(make_spec(max_input_deviation=0.1), off) == []
    assert judge(make_spec(max_input_deviation=0.05), off) == [
        "the server counted 440 input tokens, 400 were sent: 0.100 apart, at most 0.05 may be"
    ]


def test_answers_that_were_not_streamed(make_spec: Any, good: Summary) -> None:
    whole = dataclasses.replace(good, several=4, one_piece=3)
    assert judge(make_spec(), whole) == []
    assert judge(make_spec(max_one_piece_fraction=0.5), whole) == [
        "3 of 4 answers came in one piece, at most 0.5 of them may"
    ]


def test_a_measurement_that_is_over_too_soon(make_spec: Any, good: Summary) -> None:
    assert judge(make_spec(min_duration_s=3), good) == []
    assert judge(make_spec(min_duration_s=60), good) == ["it lasted 3.2 s, at least 60 were asked"]


def test_a_client_that_was_late_itself(make_spec: Any) -> None:
    late = Saturation(1.0, 7.5, 30.0, 0.4, "")
    assert judge_client(make_spec(), late) == []
    assert judge_client(make_spec(max_client_lag_ms=7.5), late) == []
    assert judge_client(make_spec(max_client_lag_ms=5), late) == [
        "the client itself was 7.5 ms late at p99, at most 5 may be"
    ]
