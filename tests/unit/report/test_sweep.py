"""The state of a point follows from the files that are there, and from nothing else."""

from pathlib import Path

import pytest

from servesweep.report.sweep import load_sweep

FAILURE = {
    **{"schema": 1, "digest": "D-a", "stage": "workers", "message": "decode_0 ended\nbefore it was ready"},
    **{"step": "decode_0", "node": "node7", "exit_code": 1, "signal": None, "log": None, "tail": []},
    **{"at": "2025-03-01T09:00:00+00:00"},
}


def states(results: Path, only: list[str] | None = None) -> list[tuple[str, str, str, str]]:
    return [(p.configuration, p.id, p.status, p.reason) for p in load_sweep(results, only).points]


def test_a_valid_result_of_the_planned_digest_is_valid(tree):
    tree.plan("a", {"c1": 1})
    tree.result("a", "c1", {})
    assert states(tree.root) == [("a", "c1", "valid", "")]


def test_a_result_of_another_digest_is_not_run(tree):
    tree.plan("a", {"c1": 1})
    tree.result("a", "c1", {"p50_ttft_ms": 1.0}, digest="older")
    assert states(tree.root) == [("a", "c1", "not run", "not measured since its recipe has changed")]
    assert load_sweep(tree.root).points[0].metric("p50_ttft_ms") is None


def test_an_invalid_point_tells_its_reasons_and_its_numbers_count_nowhere(tree):
    tree.plan("a", {"c1": 1})
    tree.invalid("a", "c1", "3 of 80 failed", "no tokens", metrics={"p50_ttft_ms": 1.0})
    assert states(tree.root) == [("a", "c1", "invalid", "3 of 80 failed; no tokens")]
    assert load_sweep(tree.root).points[0].metric("p50_ttft_ms") is None


def test_an_invalid_file_left_by_an_earlier_attempt_gives_way_to_the_valid_result(tree):
    tree.plan("a", {"c1": 1})
    tree.invalid("a", "c1", "earlier")
    tree.result("a", "c1", {})
    assert states(tree.root) == [("a", "c1", "valid", "")]


def test_a_result_that_says_it_is_not_valid_is_not(tree):
    tree.plan("a", {"c1": 1})
    tree.result("a", "c1", {}, valid=False, reasons=["wrong model"])
    assert states(tree.root) == [("a", "c1", "invalid", "wrong model")]


def test_points_without_a_file_fail_with_their_run_and_measured_ones_stay(tree):
    tree.plan("a", {"c1": 1, "c2": 2})
    tree.result("a", "c1", {})
    tree.put("a/failure.json", FAILURE)
    assert states(tree.root) == [
        ("a", "c1", "valid", ""),
        ("a", "c2", "failed", "decode_0 ended before it was ready"),
    ]


def test_the_failure_of_another_plan_says_nothing_about_this_one(tree):
    tree.plan("a", {"c1": 1}, digest="newer")
    tree.put("a/failure.json", FAILURE)
    assert states(tree.root) == [("a", "c1", "not run", "")]
    assert load_sweep(tree.root).configurations[0].failure is None


@pytest.mark.parametrize(("finished", "counts"), [("10:00", False), ("08:00", True)])
def test_a_failure_counts_until_the_run_has_finished(tree, finished, counts):
    tree.plan("a", {"c1": 1})
    tree.put("a/failure.json", FAILURE)
    tree.put("a/run.json", {"schema": 1, "digest": "D-a", "finished_at": f"2025-03-01T{finished}:00+00:00"})
    assert (load_sweep(tree.root).configurations[0].failure is not None) is counts


def test_planned_configurations_without_files_are_not_run_in_the_order_asked_for(tree):
    tree.plan("a", {"c1": 1})
    tree.put("c/failure.json", FAILURE)
    assert states(tree.root, ["z", "c", "a"]) == [
        ("z", "", "not run", "no plan"),
        ("c", "", "failed", "decode_0 ended before it was ready"),
        ("a", "c1", "not run", ""),
    ]
    assert states(tree.root) == [("a", "c1", "not run", "")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema": 1, "val', "result.json is not JSON: "),
        ("\0\0\0\0", "result.json is not JSON: "),
        ("[" * 100_000, "result.json is not JSON: "),
        ("[]", "result.json is not a JSON object"),
        ('{"schema": 2, "valid": true}', "result.json has schema 2, this version reads schema 1"),
        ('{"schema": 1}', "result.json is damaged at valid: "),
        ('{"schema": 1, "valid": true, "load": {"isl": "many"}}', "result.json is damaged at load.isl: "),
    ],
)
def test_a_broken_result_is_invalid_and_named(tree, text, said):
    tree.plan("a", {"c1": 1})
    tree.put("a/points/c1/result.json", text)
    [(_, _, status, reason)] = states(tree.root)
    assert status == "invalid"
    assert reason.startswith(said)


def test_a_broken_plan_makes_its_configuration_invalid_and_no_other(tree):
    tree.put("a/plan.json", "{")
    tree.plan("b", {"c1": 1})
    [first, second] = states(tree.root)
    assert first[:3] == ("a", "", "invalid")
    assert first[3].startswith("plan.json is not JSON")
    assert second == ("b", "c1", "not run", "")


def test_a_point_id_cannot_lead_out_of_its_directory(tree):
    tree.plan("a", {"../../b": 1})
    [(_, point, status, reason)] = states(tree.root)
    assert (point, status) == ("", "invalid")
    assert "a point id is a single file name" in reason


def test_metrics_that_are_no_finite_numbers_are_left_out(tree):
    tree.plan("a", {"c1": 1})
    metrics = {"a": 1, "b": "1", "c": None, "d": True, "e": float("nan"), "f": float("inf"), "g": 2.5}
    tree.result("a", "c1", metrics)
    measured = load_sweep(tree.root).points[0].result
    assert measured is not None
    assert measured.metrics == {"a": 1, "g": 2.5}


def test_gpu_hours_are_gpus_times_wall_hours_of_runs_of_the_present_plan(tree):
    times = {"started_at": "2025-03-01T10:00:00+00:00", "finished_at": "2025-03-01T10:15:00+00:00"}
    tree.plan("a", {"c1": 1})  # 16 GPUs
    tree.put("a/run.json", {"schema": 1, "digest": "D-a", "job_id": 7} | times)
    tree.plan("b", {"c1": 1})
    tree.put("b/run.json", {"schema": 1, "digest": "older", "job_id": 8} | times)
    sweep = load_sweep(tree.root)
    assert sweep.gpu_hours == 4.0
    assert [c.job_id for c in sweep.configurations] == ["7", ""]


def test_a_run_that_never_tells_its_times_has_no_gpu_hours(tree):
    tree.plan("a", {"c1": 1})
    tree.put("a/run.json", {"schema": 1, "digest": "D-a", "started_at": "yesterday", "finished_at": None})
    assert load_sweep(tree.root).gpu_hours is None
