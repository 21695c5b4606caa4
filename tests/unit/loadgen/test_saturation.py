from __future__ import annotations

from array import array

import pytest

from servesweep.loadgen.lag import LagReport
from servesweep.loadgen.saturation import assess, lag_limit_ms


@pytest.mark.parametrize(("itl", "limit"), [(None, 10.0), (2.0, 5.0), (30.0, 6.0), (200.0, 10.0)])
def test_the_limit_is_a_fifth_of_the_itl_within_bounds(itl: float | None, limit: float) -> None:
    assert lag_limit_ms(itl) == pytest.approx(limit)


def test_a_client_with_time_to_spare() -> None:
    verdict = assess([LagReport(array("d", [0.0, 1.0, 2.0]), 0.3), LagReport(array("d", [5.0]), 0.1)], 100.0)
    assert (verdict.lag_ms_mean, verdict.lag_ms_max, verdict.cpu_share_max) == (2.0, 5.0, 0.3)
    assert verdict.sentence == ""


def test_a_late_event_loop_is_said() -> None:
    verdict = assess([LagReport(array("d", [12.0] * 50), 0.5)], 100.0)
    assert "12.0 ms late at p99 (limit 10.0 ms)" in verdict.sentence


def test_a_busy_process_is_said_though_another_idles() -> None:
    verdict = assess([LagReport(array("d", [0.1]), 0.99), LagReport(array("d", [0.1]), 0.01)], None)
    assert "used 99% of a CPU" in verdict.sentence


def test_a_phase_too_short_for_a_sample_is_not_saturated() -> None:
    assert assess([LagReport()], None).sentence == ""
