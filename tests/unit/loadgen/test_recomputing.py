"""Every number of a result, recomputed from the log of single requests with pandas and scipy alone."""

from __future__ import annotations

import io
from array import array
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from servesweep.loadgen.record import RequestRecord
from servesweep.loadgen.request_log import request_log
from servesweep.loadgen.spec import LoadSpec
from servesweep.loadgen.statistics import summarise

STATUSES = ["ok", "ok", "ok", "timeout", "HTTP 500"]
GAPS = st.lists(st.floats(0.0, 3.0), min_size=0, max_size=12)


@st.composite
def records(draw: Any) -> list[RequestRecord]:
    """Requests as a server might answer them: bursts, pauses, failures, usage or none."""
    made = []
    for index in range(draw(st.integers(1, 25))):
        sent = 1000.0 + draw(st.floats(0, 50))
        ttft = draw(st.floats(0.0001, 10))
        arrivals = array("d", sent + ttft + np.cumsum([0.0, *draw(GAPS)]))
        record = RequestRecord(index, sent, arrivals[-1] + draw(st.floats(0, 0.1)), 100, 13)
        record.status = draw(st.sampled_from(STATUSES))
        record.model = "llama"
        record.arrivals = arrivals
        record.usage_output = draw(st.none() | st.integers(1, 40))
        record.usage_input = draw(st.none() | st.integers(1, 200))
        made.append(record)
    return made


def spec(**changes: Any) -> LoadSpec:
    fields: dict[str, Any] = {
        "configuration": "c",
        "point": "c4",
        "digest": "d",
        "url": "http://host:8000",
        "model": "llama",
        "isl": 100,
        "osl": 13,
        "concurrency": 4,
        "num_prompts": 25,
        "total_gpus": 8,
        "prefill_gpus": 2,
        "decode_gpus": 6,
        "goodput": {"ttft": 2000, "tpot": 500, "itl": 900, "e2el": 9000},
    }
    return LoadSpec.model_validate(fields | changes)


def recomputed(log: pd.DataFrame, load: LoadSpec) -> dict[str, float | None]:
    """The metrics by their definitions, from the columns that are no metric themselves."""
    good = log[log["status"] == "ok"]
    if good.empty:
        return {}
    first = good["arrivals_s"].map(lambda at: at[0])
    last = good["arrivals_s"].map(lambda at: at[-1])
    several = good["output_tokens"] > 1
    gaps = good["arrivals_s"].map(np.diff)
    samples = {
        "ttft": (first - good["sent_s"]) * 1e3,
        "e2el": (last - good["sent_s"]) * 1e3,
        "tpot": ((last - first) / (good["output_tokens"] - 1))[several] * 1e3,
        "itl": pd.Series(np.concatenate(list(gaps)) * 1e3),
    }
    metrics: dict[str, float | None] = {}
    for name, values in samples.items():
        for figure, how in {
            "mean": lambda v: stats.tmean(v),
            "median": lambda v: v.quantile(0.5),
            "std": lambda v: v.std(ddof=0),
            **{f"p{p}": (lambda v, p=p: v.quantile(p / 100)) for p in (50, 90, 95, 99)},
        }.items():
            metrics[f"{figure}_{name}_ms"] = float(how(values)) if len(values) else None
    duration = last.max() - good["sent_s"].min()
    output, inputs = good["output_tokens"].sum(), good["input_tokens"].sum()
    mean_gap = gaps.map(lambda g: g.mean() * 1e3 if len(g) else 0.0)
    tpot = ((last - first) / (good["output_tokens"] - 1).where(several)).fillna(0.0) * 1e3
    kept = (samples["ttft"] <= 2000) & (tpot <= 500) & (mean_gap <= 900) & (samples["e2el"] <= 9000)
    rates = {
        "request_throughput_per_s": len(good),
        "request_goodput_per_s": kept.sum(),
        "output_throughput_tok_s": output,
        "input_throughput_tok_s": inputs,
        "total_throughput_tok_s": output + inputs,
        "output_tok_s_per_gpu": output / 8,
        "total_tok_s_per_gpu": (output + inputs) / 8,
        "output_tok_s_per_decode_gpu": output / 6,
        "input_tok_s_per_prefill_gpu": inputs / 2,
    }
    metrics |= {name: float(amount / duration) for name, amount in rates.items()}
    median = metrics["median_tpot_ms"]
    metrics["output_tok_s_per_user"] = 1e3 / median if median else None
    return metrics


@settings(max_examples=25, deadline=None)
@given(records())
def test_every_metric_is_what_the_log_says(made: list[RequestRecord]) -> None:
    load = spec()
    log = pd.read_parquet(io.BytesIO(request_log(made)))
    expected, summary = recomputed(log, load), summarise(load, made)
    if not expected:
        assert summary.completed == 0
        assert all(value is None for value in summary.metrics.values())
        return
    assert set(summary.metrics) == set(expected)
    for name, value in expected.items():
        # Clocks of 1000 s lose twelve digits when they become differences.
        assert summary.metrics[name] == pytest.approx(value, rel=1e-6, abs=1e-6), name
    assert summary.completed == (log["status"] == "ok").sum()
    assert summary.failed == (log["status"] != "ok").sum()


@settings(max_examples=20, deadline=None)
@given(records())
def test_failed_requests_change_no_latency_and_no_rate(made: list[RequestRecord]) -> None:
    good = [record for record in made if record.ok]
    assert summarise(spec(), made).metrics == summarise(spec(), good).metrics


@settings(max_examples=20, deadline=None)
@given(records())
def test_requests_in_flight_are_counted_as_by_asking_at_every_moment(made: list[RequestRecord]) -> None:
    log = pd.read_parquet(io.BytesIO(request_log(made)))
    # Between two neighbouring clocks nothing changes.
    moments = np.unique(np.concatenate([log["sent_s"], log["ended_s"]]))
    middles = (moments[1:] + moments[:-1]) / 2
    open_then = [((log["sent_s"] < at) & (log["ended_s"] > at)).sum() for at in middles]
    assert summarise(spec(), made).max_in_flight == max(open_then)
