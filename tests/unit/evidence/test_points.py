"""Which points exist is decided by what stands in their results."""

import threading
from typing import Any

import pytest

from servesweep.evidence.files import RunFiles
from servesweep.evidence.points import (
    is_complete,
    open_points,
    read_json,
    set_aside_stale,
    wait_for_points,
    why_open,
)
from servesweep.plan.plan import Plan


def result(plan: Plan, point: str, **changed: Any) -> dict[str, Any]:
    digest = next(planned.digest for planned in plan.points if planned.id == point)
    return {"valid": True, "digest": digest, **changed}


def open_ids(files: RunFiles, plan: Plan) -> list[str]:
    return [point.id for point in open_points(files, plan)]


def test_nothing_measured_leaves_every_point_open_in_order(plan: Plan, files: RunFiles) -> None:
    assert open_ids(files, plan) == ["c1", "c4", "c16"]


def test_a_valid_result_of_this_load_counts(plan: Plan, files: RunFiles, keep: Any) -> None:
    keep(files.result("c4"), result(plan, "c4"))
    assert open_ids(files, plan) == ["c1", "c16"]
    assert is_complete(files, plan.points[1])


@pytest.mark.parametrize(
    "changed",
    [{"valid": False}, {"valid": "true"}, {"valid": 1}, {"digest": "0" * 16}, {"digest": None}],
)
def test_a_result_that_is_invalid_or_of_something_else_does_not(
    plan: Plan, files: RunFiles, keep: Any, changed: dict[str, Any]
) -> None:
    keep(files.result("c4"), result(plan, "c4", **changed))
    assert open_ids(files, plan) == ["c1", "c4", "c16"]


@pytest.mark.parametrize("text", ["", "{", '{"valid": true', "[]", "null", '"valid"', "\x00\xff"])
def test_a_broken_result_does_not(plan: Plan, files: RunFiles, keep: Any, text: str) -> None:
    keep(files.result("c4"), text)
    assert open_ids(files, plan) == ["c1", "c4", "c16"]
    assert read_json(files.result("c4")) == {}


def test_a_result_of_another_point_does_not(plan: Plan, files: RunFiles, keep: Any) -> None:
    keep(files.result("c4"), result(plan, "c1"))
    assert "c4" in open_ids(files, plan)


def test_what_does_not_count_is_set_aside_and_kept(plan: Plan, files: RunFiles, keep: Any) -> None:
    keep(files.result("c1"), result(plan, "c1"))
    keep(files.result("c4"), result(plan, "c4", digest="0" * 16))
    keep(files.result("c16"), "{")
    assert set_aside_stale(files, plan) == ["c4", "c16"]
    assert files.result("c1").exists()
    assert not files.result("c4").exists()
    assert read_json(files.point("c4") / "result.stale.json")["digest"] == "0" * 16
    assert set_aside_stale(files, plan) == []


def test_the_log_of_its_requests_is_set_aside_with_a_result(plan: Plan, files: RunFiles, keep: Any) -> None:
    of_c1, of_c4 = (files.point(name) / "requests.parquet" for name in ("c1", "c4"))
    keep(files.result("c1"), result(plan, "c1"))
    keep(of_c1, "current")
    keep(files.result("c4"), result(plan, "c4", digest="0" * 16))
    keep(of_c4, "old")
    set_aside_stale(files, plan)
    assert of_c1.read_text() == "current"
    assert (of_c4.exists(), of_c4.with_name("requests.stale.parquet").read_text()) == (False, "old")


@pytest.mark.parametrize(
    ("before", "after"), [(None, "orphan"), ("of the stale result", "of the stale result")]
)
def test_a_log_without_a_result_is_not_taken_for_that_of_another(
    plan: Plan, files: RunFiles, keep: Any, before: str | None, after: str
) -> None:
    log = files.point("c4") / "requests.parquet"
    keep(log, "orphan")
    aside = log.with_name("requests.stale.parquet")
    if before is not None:
        keep(aside, before)
    assert set_aside_stale(files, plan) == []
    assert (log.exists(), aside.read_text()) == (False, after)


def test_a_point_that_does_not_count_says_why(plan: Plan, files: RunFiles, keep: Any) -> None:
    keep(files.invalid("c4"), {"reasons": ["3 of 20 requests failed", "no output tokens"]})
    keep(files.invalid("c16"), {"reasons": []})
    assert [why_open(files, point) for point in plan.points] == [
        "no result",
        "3 of 20 requests failed; no output tokens",
        "no result",
    ]


def test_results_that_a_slow_file_system_shows_late_are_waited_for(
    plan: Plan, files: RunFiles, keep: Any
) -> None:
    for point in ("c1", "c4"):
        keep(files.result(point), result(plan, point))
    assert wait_for_points(files, plan, seconds=0.0) == ["c16"]
    late = threading.Timer(0.2, keep, (files.result("c16"), result(plan, "c16")))
    late.start()
    assert wait_for_points(files, plan, seconds=60.0) == []
    late.join()
