"""When tokens are due: arithmetic that a person can check."""

import pytest

from servesweep.simulator.options import SimulatorOptions
from servesweep.simulator.timetable import timetable


def due_times(options: SimulatorOptions, tokens: int, **request: object) -> list[float]:
    arguments = {"admission": 100.0, "prompt_tokens": 0, "running": 1, "prefilled": False} | request
    table = timetable(options, **arguments)  # type: ignore[arg-type]
    return [table.due(token) for token in range(tokens)]


def test_tokens_follow_the_admission_at_ttft_and_then_every_itl() -> None:
    options = SimulatorOptions(model_name="t", ttft_ms=20, itl_ms=5)
    assert due_times(options, 4) == pytest.approx([100.020, 100.025, 100.030, 100.035])


def test_a_long_prompt_takes_longer() -> None:
    options = SimulatorOptions(model_name="t", ttft_ms=20, itl_ms=5, prefill_tokens_per_s=10_000)
    assert due_times(options, 2, prompt_tokens=1000) == pytest.approx([100.120, 100.125])


def test_each_other_running_request_slows_the_decode_but_not_the_prefill() -> None:
    options = SimulatorOptions(model_name="t", ttft_ms=20, itl_ms=5, itl_slope_ms=0.5)
    assert due_times(options, 3, running=11) == pytest.approx([100.020, 100.030, 100.040])


def test_a_request_that_was_prefilled_elsewhere_starts_after_one_itl() -> None:
    options = SimulatorOptions(model_name="t", ttft_ms=20, itl_ms=5, prefill_tokens_per_s=10)
    assert due_times(options, 2, prompt_tokens=1000, prefilled=True) == pytest.approx([100.005, 100.010])


def test_a_timetable_can_be_told_in_a_header() -> None:
    options = SimulatorOptions(model_name="t", ttft_ms=20, itl_ms=5)
    table = timetable(options, admission=100.0, prompt_tokens=0, running=1, prefilled=False)
    assert table.header() == "admission=100.000000, ttft=0.020000, itl=0.005000"


def test_a_late_token_does_not_move_later_ones() -> None:
    options = SimulatorOptions(model_name="t", ttft_ms=0, itl_ms=5)
    assert due_times(options, 100_001)[100_000] == pytest.approx(100.0 + 500.0)
