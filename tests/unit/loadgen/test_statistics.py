from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from servesweep.loadgen.measure import count_notes
from servesweep.loadgen.statistics import distribution, max_in_flight, summarise


def test_two_requests_by_hand(make_spec: Any, make_record: Any) -> None:
    # Sent at 0 s, content at 0.1, 0.2, 0.4 s; sent at 1 s, content at 1.3, 1.4, 1.5, 1.6, 2.0 s.
    records = [
        make_record(0.0, (0.1, 0.2, 0.4)),
        make_record(1.0, (1.3, 1.4, 1.5, 1.6, 2.0), usage_input=60),
    ]
    spec = make_spec(num_prompts=2, total_gpus=4, prefill_gpus=1, decode_gpus=2)
    summary = summarise(spec, records)
    assert (summary.completed, summary.failed, summary.output_tokens, summary.input_tokens) == (2, 0, 8, 160)
    assert summary.duration_s == pytest.approx(2.0)
    expected = {
        "mean_ttft_ms": 200.0,  # 100 and 300
        "median_ttft_ms": 200.0,
        "std_ttft_ms": 100.0,
        "p50_ttft_ms": 200.0,
        "p90_ttft_ms": 280.0,  # 100 + 0.9 * 200
        "p95_ttft_ms": 290.0,
        "p99_ttft_ms": 298.0,
        "mean_tpot_ms": 162.5,  # 300 / 2 and 700 / 4
        "median_tpot_ms": 162.5,
        "mean_itl_ms": 1000 / 6,  # 100 200 100 100 100 400
        "median_itl_ms": 100.0,
        "p90_itl_ms": 300.0,  # rank 4.5 between 200 and 400
        "mean_e2el_ms": 700.0,  # 400 and 1000
        "p99_e2el_ms": 994.0,
        "request_throughput_per_s": 1.0,
        "output_throughput_tok_s": 4.0,
        "input_throughput_tok_s": 80.0,
        "total_throughput_tok_s": 84.0,
        "output_tok_s_per_gpu": 1.0,
        "total_tok_s_per_gpu": 21.0,
        "output_tok_s_per_decode_gpu": 2.0,
        "input_tok_s_per_prefill_gpu": 80.0,
        "output_tok_s_per_user": 1000 / 162.5,
    }
    assert {key: summary.metrics[key] for key in expected} == pytest.approx(expected)


def test_distribution_agrees_with_numpy_on_random_data() -> None:
    values = np.random.default_rng(5).gamma(2.0, 30.0, size=997)
    figures = distribution("itl", values)
    assert figures == pytest.approx(
        {
            "mean_itl_ms": np.mean(values),
            "median_itl_ms": np.median(values),
            "std_itl_ms": np.std(values),
            **{f"p{p}_itl_ms": np.percentile(values, p) for p in (50, 90, 95, 99)},
        }
    )


def test_a_chunk_of_several_tokens_counts_by_usage(make_spec: Any, make_record: Any) -> None:
    record = make_record(0.0, (0.1, 0.2, 0.5), usage_output=9)
    summary = summarise(make_spec(num_prompts=1), [record])
    assert (summary.output_tokens, summary.chunks) == (9, 3)
    assert summary.metrics["mean_tpot_ms"] == pytest.approx(50.0)  # 400 ms over 8 further tokens
    assert summary.metrics["mean_itl_ms"] == pytest.approx(200.0)  # two gaps between three chunks


def test_answers_without_usage_are_counted_by_pieces_and_told(make_spec: Any, make_record: Any) -> None:
    told = make_record(0.0, [0.1, 0.2], usage_output=2)
    silent = make_record(0.0, [0.1, 0.2, 0.3])
    summary = summarise(make_spec(), [told, silent])
    assert (summary.uncounted, summary.output_tokens) == (1, 5)
    sentence = (
        "The server told no usage for 1 of 2 answers: each piece with content counts as one token there."
    )
    assert sentence in count_notes(make_spec(), summary)
    assert sentence not in count_notes(make_spec(), summarise(make_spec(), [told]))


def test_failed_requests_enter_no_latency_and_no_rate(make_spec: Any, make_record: Any) -> None:
    good = make_record(0.0, (0.1, 0.2))
    cut = make_record(0.0, (9.0, 99.0), status="connection cut", detail="reset")
    spec = make_spec(num_prompts=2)
    with_failure, without = summarise(spec, [good, cut]), summarise(spec, [good])
    assert with_failure.metrics == without.metrics
    assert with_failure.duration_s == without.duration_s
    assert (with_failure.completed, with_failure.failed) == (1, 1)
    assert with_failure.errors == {"connection cut": 1}
    assert with_failure.error_examples == {"connection cut": "reset"}


def test_single_token_answers_have_no_tpot_and_no_itl(make_spec: Any, make_record: Any) -> None:
    metrics = summarise(make_spec(), [make_record(0.0, (0.1,))]).metrics
    assert metrics["mean_ttft_ms"] == pytest.approx(100.0)
    assert metrics["median_tpot_ms"] is metrics["p99_itl_ms"] is metrics["output_tok_s_per_user"] is None


def test_without_a_completed_request_every_metric_is_none(make_spec: Any, make_record: Any) -> None:
    summary = summarise(make_spec(), [make_record(0.0, (), status="timeout")])
    assert set(summary.metrics.values()) == {None}
    assert summary.duration_s == 0.0


def test_per_gpu_rates_need_a_number_of_gpus(make_spec: Any, make_record: Any) -> None:
    metrics = summarise(make_spec(total_gpus=0), [make_record(0.0, (0.1,))]).metrics
    assert metrics["output_throughput_tok_s"] == pytest.approx(10.0)
    assert metrics["output_tok_s_per_gpu"] is metrics["output_tok_s_per_decode_gpu"] is None


def test_goodput_counts_requests_that_keep_every_limit(make_spec: Any, make_record: Any) -> None:
    records = [make_record(0.0, (0.1, 0.2)), make_record(0.0, (0.1, 0.4)), make_record(0.0, (0.3, 0.4))]
    metrics = summarise(make_spec(goodput={"ttft": 200, "tpot": 150}), records).metrics
    assert metrics["request_throughput_per_s"] == pytest.approx(7.5)  # 3 in 0.4 s
    assert metrics["request_goodput_per_s"] == pytest.approx(2.5)  # only the first


@pytest.mark.parametrize(
    ("spans", "most"),
    [
        ([], 0),
        ([(0, 1)], 1),
        ([(0, 1), (1, 2)], 1),
        ([(0, 2), (1, 3), (1.5, 1.6), (2.5, 4)], 3),
    ],
)
def test_requests_in_flight(make_record: Any, spans: list[tuple[float, float]], most: int) -> None:
    assert max_in_flight([make_record(start, (end,)) for start, end in spans]) == most
