"""Objectives mark a point; they never make it invalid."""

from __future__ import annotations

import pytest

from servesweep.loadgen.slo import AT_MOST, OBJECTIVES, mark, unknown_objective

METRICS = {"p99_ttft_ms": 480.0, "mean_tpot_ms": 31.0, "output_tok_s_per_user": 32.0, "p99_itl_ms": None}


def test_kept_objectives() -> None:
    found = mark({"ttft_p99_ms": 480, "output_tok_s_per_user": 32}, METRICS)
    assert found is not None
    assert (found.met, found.missed) == (True, [])
    assert found.observed == {"ttft_p99_ms": 480.0, "output_tok_s_per_user": 32.0}


def test_each_missed_objective_is_a_clause() -> None:
    found = mark(
        {"ttft_p99_ms": 500, "tpot_mean_ms": 30, "output_tok_s_per_user": 40, "itl_p99_ms": 9}, METRICS
    )
    assert found is not None
    assert found.missed == [
        "tpot_mean_ms is 31, at most 30 was asked",
        "output_tok_s_per_user is 32, at least 40 was asked",
        "itl_p99_ms has no sample",
    ]


def test_without_objectives_there_is_no_mark() -> None:
    assert mark({}, METRICS) is None


def test_names_are_known(make_record: object) -> None:
    assert len(AT_MOST) == 24
    assert all(unknown_objective(name) == "" for name in OBJECTIVES)
    assert unknown_objective("ttft_ms").startswith("'ttft_ms' is no objective: they are like")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("p99_ttft_ms", "ttft_p99_ms"),
        ("ttft_p99", "ttft_p99_ms"),
        ("mean_itl_ms", "itl_mean_ms"),
        ("ttf_p90_ms", "ttft_p90_ms"),
        ("output_tok_s_per_users", "output_tok_s_per_user"),
    ],
)
def test_the_order_of_metrics_and_misspelt_objectives_are_told_by_the_right_one(
    name: str, meant: str
) -> None:
    assert unknown_objective(name) == f"{name!r} is no objective; did you mean {meant}?"


def test_another_percentile_is_no_guess() -> None:
    assert "did you mean" not in unknown_objective("ttft_p98_ms")
