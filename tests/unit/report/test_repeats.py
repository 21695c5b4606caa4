"""Means and intervals over the repeats of a load level, as its points are now."""

import json

import numpy as np
import pytest
from scipy import stats

from servesweep.report.repeats import T_975, interval, t_975
from servesweep.report.rows import sweep_rows
from servesweep.report.sweep import load_sweep
from servesweep.report.write import write_report


@pytest.fixture
def repeated(tree):
    """Three repeats of one level, and a level that was measured once."""
    points = [("c4", 0), ("c4-k1", 1), ("c4-k2", 2), ("c8", 0)]
    planned = [{"id": name, "concurrency": 4, "repeat": n, "digest": f"P-{name}"} for name, n in points]
    tree.plan("a", {})
    plan = json.loads((tree.root / "a/plan.json").read_text())
    tree.put("a/plan.json", plan | {"points": planned})
    for (name, _), rate in zip(points, (10.0, 12.0, 14.0, 20.0), strict=True):
        measure(tree, name, rate)
    return tree


def measure(tree, point, rate, **changes):
    metrics = {"output_throughput_tok_s": rate, **changes}
    content = {"schema": 1, "digest": f"P-{point}", "valid": True, "metrics": metrics}
    tree.put(f"a/points/{point}/result.json", content)


def levels(tree):
    write_report(tree.root)
    return json.loads((tree.root / "a/repeats.json").read_text())["levels"]


def test_levels_with_repeats_have_an_interval(repeated):
    # Mean 12, standard deviation 2, t(2) = 4.3027: 4.3027 * 2 / sqrt(3).
    found = levels(repeated)
    assert list(found) == ["c4"]
    assert found["c4"]["points"] == ["c4", "c4-k1", "c4-k2"]
    rate = found["c4"]["metrics"]["output_throughput_tok_s"]
    assert rate == {"mean": 12.0, "half_width_95": pytest.approx(4.9683, abs=1e-4)}


def test_a_repeat_that_is_measured_again_moves_the_interval(repeated):
    levels(repeated)
    measure(repeated, "c4", 16.0)
    assert levels(repeated)["c4"]["metrics"]["output_throughput_tok_s"]["mean"] == 14.0


def test_a_repeat_that_does_not_count_is_left_out_and_one_alone_has_no_interval(repeated):
    (repeated.root / "a/points/c4/result.json").unlink()
    assert levels(repeated)["c4"]["points"] == ["c4-k1", "c4-k2"]
    (repeated.root / "a/points/c4-k1/result.json").unlink()
    write_report(repeated.root)
    assert not (repeated.root / "a/repeats.json").exists()


def test_the_table_has_the_half_widths_in_the_row_of_each_repeat_that_is_counted(repeated):
    for point, ttft in (("c4", 5.0), ("c4-k1", 7.0), ("c8", 9.0)):
        measure(repeated, point, 10.0, p99_ttft_ms=ttft)
    repeated.put("a/points/c4-k2/result.json", {"schema": 1, "digest": "of another plan", "valid": True})
    rows = {row["point"]: row for row in sweep_rows(load_sweep(repeated.root))}
    widths = {
        point: [
            row[f"half_width_95_{name}"] for name in ("p99_ttft_ms", "output_throughput_tok_s", "p50_itl_ms")
        ]
        for point, row in rows.items()
    }
    # Mean 6, standard deviation sqrt(2), t(1) = 12.7062: 12.7062 * sqrt(2) / sqrt(2).
    both = [pytest.approx(12.7062), 0.0, None]
    assert widths == {"c4": both, "c4-k1": both, "c4-k2": [None] * 3, "c8": [None] * 3}


def test_only_numbers_that_all_repeats_have_and_that_have_a_spread_count(repeated):
    measure(repeated, "c4", 10.0, accuracy=0.5, huge=1e308)
    measure(repeated, "c4-k1", 12.0, huge=-1e308)
    measure(repeated, "c4-k2", 14.0, huge=1e308)
    assert list(levels(repeated)["c4"]["metrics"]) == ["output_throughput_tok_s"]


def test_the_interval_is_students() -> None:
    rng = np.random.default_rng(7)
    for count in (2, 3, 5, 8, 31, 60):
        values = rng.normal(100, 7, size=count)
        found = interval(values.tolist())
        low, high = stats.t.interval(0.95, count - 1, loc=values.mean(), scale=stats.sem(values))
        assert found.mean == pytest.approx(values.mean())
        assert found.half_width_95 == pytest.approx((high - low) / 2, rel=1e-4)


def test_the_table_of_t_agrees_with_scipy() -> None:
    for freedom in range(1, 200):
        assert t_975(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=5e-5), freedom
    assert len(T_975) == 30


def test_an_interval_by_hand() -> None:
    # Mean 12, standard deviation 2, t(2) = 4.3027: 4.3027 * 2 / sqrt(3).
    found = interval([10.0, 12.0, 14.0])
    assert (found.mean, found.half_width_95) == (12.0, pytest.approx(4.9683, abs=1e-4))
