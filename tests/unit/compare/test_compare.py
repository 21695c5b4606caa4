"""What counts as worse: beyond the tolerance, and by more than repeats scatter."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pandas
import pytest
import yaml
from click.testing import CliRunner, Result

from servesweep.cli import main
from servesweep.compare.judge import BeyondNumbersError, Comparison, compare
from servesweep.compare.noise import mean_of, noise_of, t95
from servesweep.compare.samples import Level, Samples, gathered, is_measured, lower_is_better
from servesweep.compare.tolerance import Tolerance, ToleranceError, read_tolerance

TTFT, RATE = "p99_ttft_ms", "output_throughput_tok_s"


def row(
    point: str = "c4", configuration: str = "demo", status: str = "valid", **metrics: Any
) -> dict[str, Any]:
    about = {"configuration": configuration, "point": point, "status": status, "concurrency": 4, "isl": 64}
    return {**about, "osl": 16, "repeat": 0, **metrics}


def repeats(metric: str, *values: float, configuration: str = "demo") -> list[dict[str, Any]]:
    return [
        row(f"c4-k{k}" if k else "c4", configuration, **{metric: value}) for k, value in enumerate(values)
    ]


def judged(before: list[dict[str, Any]], after: list[dict[str, Any]], tolerance: float = 0.05) -> Comparison:
    return compare(gathered(before), gathered(after), Tolerance(tolerance), (TTFT, RATE))


def verdict(metric: str, before: list[float], after: list[float], tolerance: float = 0.05) -> str:
    (change,) = judged(repeats(metric, *before), repeats(metric, *after), tolerance).changes
    return change.verdict


@pytest.mark.parametrize(
    ("metric", "before", "after", "expected"),
    [
        (TTFT, [100.0], [104.0], "within tolerance"),
        (TTFT, [100.0], [106.0], "regression"),
        (TTFT, [100.0], [90.0], "improvement"),
        (RATE, [100.0], [90.0], "regression"),
        (RATE, [100.0], [110.0], "improvement"),
        # Ten percent, and repeats that scatter by as much.
        (TTFT, [90.0, 100.0, 110.0], [100.0, 110.0, 120.0], "within noise"),
        (TTFT, [99.0, 100.0, 101.0], [109.0, 110.0, 111.0], "regression"),
        # One side's scatter is taken for the other's too.
        (TTFT, [90.0, 100.0, 110.0], [115.0], "within noise"),
        (TTFT, [99.9, 100.0, 100.1], [115.0], "regression"),
        (RATE, [0.0], [0.0], "within tolerance"),
    ],
)
def test_a_number_is_worse_beyond_its_tolerance_and_not_by_chance(
    metric: str, before: list[float], after: list[float], expected: str
) -> None:
    assert verdict(metric, before, after) == expected


def test_repeats_that_do_not_scatter_leave_the_tolerance_alone_to_decide() -> None:
    assert verdict(TTFT, [100.0, 100.0], [106.0, 106.0]) == "regression"


def test_the_interval_of_a_difference_by_hand() -> None:
    # Variances 1 and 4, three repeats each: s² = 1/3 + 4/3; Welch's freedom 2.94, t of 2 is 4.303.
    assert noise_of([9, 10, 11], [18, 20, 22]) == pytest.approx(4.303 * (5 / 3) ** 0.5)
    # Variance 1 of three, and one value: s² = 1 + 1/3.
    assert noise_of([9, 10, 11], [20]) == pytest.approx(4.303 * (4 / 3) ** 0.5)
    assert noise_of([1], [2]) is None
    assert mean_of([9, 10, 11]).half_width == pytest.approx(4.303 / 3**0.5)


def test_quantiles_fall_towards_those_of_the_normal_distribution() -> None:
    table = [t95(freedom) for freedom in range(1, 31)]
    assert table == sorted(table, reverse=True)
    assert t95(1000) >= NormalDist().inv_cdf(0.975)
    assert t95(10) == 2.228


def test_chance_alone_rarely_raises_an_alarm() -> None:
    # Ten percent of scatter, five repeats, no tolerance at all: at most the 2.5 % that the interval promises.
    import numpy

    random = numpy.random.default_rng(7)
    draws = random.normal(100, 10, (400, 2, 5)).tolist()
    alarms = sum(verdict(TTFT, before, after, 0.0) == "regression" for before, after in draws)
    assert alarms <= 0.04 * len(draws)
    moved = random.normal([[100], [150]], 10, (400, 2, 5)).tolist()
    assert sum(verdict(TTFT, before, after, 0.0) == "regression" for before, after in moved) == len(moved)


def test_a_point_that_is_not_valid_any_more_is_lost_and_a_further_one_is_new() -> None:
    found = judged(
        [row("c1", p99_ttft_ms=1.0), row("c4", p99_ttft_ms=1.0)],
        [
            row("c1", status="invalid", reason="3 requests failed", p99_ttft_ms=9.0),
            row("c8", p99_ttft_ms=1.0),
        ],
    )
    assert found.changes == ()
    assert [(one.level.point, one.fate, one.reason) for one in found.unmatched] == [
        ("c1", "lost", "3 requests failed"),
        ("c4", "lost", "there is no such point"),
        ("c8", "new", "not in the baseline"),
    ]


def test_what_was_never_valid_is_no_regression() -> None:
    found = judged([row(status="failed")], [row(status="failed", reason="the gate did not open")])
    assert [one.fate for one in found.unmatched] == ["not valid in both"]
    assert found.lost == []


def test_points_of_other_lengths_are_not_compared() -> None:
    found = judged([row(p99_ttft_ms=1.0)], [{**row(p99_ttft_ms=9.0), "isl": 128}])
    (one,) = found.unmatched
    assert (one.fate, one.reason) == ("other load", "the points have different loads: isl 64 and 128")


@pytest.mark.parametrize("missing", [math.nan, None])
def test_a_repeat_without_a_number_is_told(missing: float | None) -> None:
    three, two = repeats(TTFT, 1.0, 1.0, 1.0), repeats(TTFT, 1.0, 1.0)
    third = row("c4-k2", **{TTFT: missing})
    told = "demo c4: p99_ttft_ms: 2 of 3 valid repeats of {} have a number"
    assert judged(three, [*two, third]).notes == (told.format("the new side"),)
    assert judged([*two, third], three).notes == (told.format("the baseline"),)
    assert judged(three, three).notes == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [([1e308, 1e308], [1e308, 1e308]), ([1e308, 1.0], [1.0]), ([1e-300], [1e300]), ([1.0] * 2, [1e200, 1.0])],
)
def test_numbers_beyond_computing_are_one_sentence(before: list[float], after: list[float]) -> None:
    low, high = min(before + after), max(before + after)
    with pytest.raises(BeyondNumbersError) as caught:
        judged(repeats(TTFT, *before), repeats(TTFT, *after))
    assert str(caught.value) == (
        f"demo c4: p99_ttft_ms cannot be compared: its numbers, from {low:g} to {high:g}, are beyond what "
        "can be computed"
    )


def test_repeats_that_are_not_valid_are_told() -> None:
    after = [*repeats(TTFT, 1.0), row("c4-k1", status="invalid", reason="no tokens")]
    assert judged(repeats(TTFT, 1.0, 1.0), after).notes == ("demo c4: 1 of 2 repeats are valid (no tokens)",)


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), -5.0, "abc", None])
def test_a_number_that_is_gone_is_lost_and_does_not_pass(broken: object) -> None:
    found = judged([row(**{TTFT: 9.0, RATE: 5.0})], [row(**{TTFT: broken, RATE: 5.0})])
    assert [change.metric for change in found.changes] == [RATE]
    assert [(one.fate, one.reason) for one in found.lost] == [("lost", f"no number any more: {TTFT}")]


def test_points_whose_client_was_too_busy_are_named_side_by_side() -> None:
    calm = [row(f"c{n}", **{RATE: 10.0}, client_saturated=False) for n in range(7)]
    busy = [{**one, "client_saturated": True} for one in calm]
    assert judged(calm, calm).notes == ()
    assert judged([*busy[:1], *calm[1:]], busy).notes == (
        "the client of the baseline was too busy for its times to be trusted (client_saturated): demo c0",
        "the client of the new side was too busy for its times to be trusted (client_saturated): "
        "demo c0, demo c1, demo c2, demo c3, demo c4 and 2 more",
    )


def test_one_configuration_is_compared_with_one_of_another_name_and_several_are_not() -> None:
    found = judged(repeats(TTFT, 1.0), repeats(TTFT, 1.0, configuration="demo.again"))
    assert len(found.changes) == 1
    assert found.notes == ("demo.again is compared with demo",)
    two = [*repeats(TTFT, 1.0, configuration="a"), *repeats(TTFT, 1.0, configuration="b")]
    assert judged(two, repeats(TTFT, 1.0, configuration="c")).changes == ()


def test_which_columns_are_numbers_of_a_measurement() -> None:
    names = ("p99_ttft_ms", RATE, "output_tok_s_per_gpu", "output_tok_s_per_user", "request_goodput_per_s",
             "output_tok_s_per_decode_gpu", "cost_usd_per_million_output_tokens")  # fmt: skip
    assert all(map(is_measured, names))
    assert not [name for name in ("isl", "total_gpus", "std_ttft_ms", "duration_s", "client_lag_p99_ms",
                                  "half_width_95_p99_ttft_ms", "half_width_95_output_tok_s_per_gpu",
                                  "input_tokens", "configuration") if is_measured(name)]  # fmt: skip
    assert [name for name in names if lower_is_better(name)] == ["p99_ttft_ms", names[-1]]


def test_an_unlimited_rate_is_no_load() -> None:
    (samples,) = gathered([{**row(), "request_rate": "inf"}]).values()
    assert samples.told_load == "concurrency 4 · ISL 64 · OSL 16"
    assert gathered([]) == {}
    assert Samples().told_load == ""
    assert Level("a", "c1") < Level("a", "c4")


@pytest.mark.parametrize(
    ("words", "general", "ttft"),
    [([], 0.05, 0.05), (["3%"], 0.03, 0.03), (["0.1"], 0.1, 0.1), (["10"], 0.1, 0.1), (["0"], 0.0, 0.0),
     (["2.5%", "p99_ttft_ms=20%"], 0.025, 0.2)],
)  # fmt: skip
def test_tolerances(words: list[str], general: float, ttft: float) -> None:
    found = read_tolerance(words)
    assert (found.of(RATE), found.of(TTFT)) == (general, ttft)


@pytest.mark.parametrize("word", ["much", "-5%", "5%%", "isl=5%", "=5%", ""])
def test_what_is_no_tolerance_is_told(word: str) -> None:
    with pytest.raises(ToleranceError):
        read_tolerance([word])


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same point three times: as a table, as a slower one, as a lockfile."""
    monkeypatch.chdir(tmp_path)
    fast, slow = (row(p99_ttft_ms=ttft, output_throughput_tok_s=100.0) for ttft in (20.0, 30.0))
    for name, data in (("fast", fast), ("slow", slow)):
        with Path(f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, fast.keys(), restval="")
            writer.writeheader()
            writer.writerow(data)
    pandas.DataFrame([fast]).to_parquet("fast.parquet")
    result = {key: fast[key] for key in ("status", "concurrency", "isl", "osl", TTFT, RATE)}
    lock = {"configuration": "demo", "results": {"c4": result}}
    Path("fast.lock.yaml").write_text(yaml.safe_dump({"schema": 2, "lock": lock}))


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["compare", *words])


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("baseline", ["fast.csv", "fast.parquet", "fast.lock.yaml"])
def test_the_command_fails_on_a_regression_and_passes_without(baseline: str) -> None:
    worse = run(baseline, "slow.csv")
    assert worse.exit_code == 1
    assert worse.output == (
        "configuration  point  metric       baseline  new  change  noise  limit  verdict\n"
        "demo           c4     p99_ttft_ms  20        30   +50.0%         5.0%   REGRESSION\n"
        "1 regression, 0 improvements, 0 within noise, 1 within tolerance\n"
    )
    assert run(baseline, "slow.csv", "--tolerance", "60%").exit_code == 0
    assert run(baseline, "slow.csv", "--metric", "p50_ttft_ms").exit_code == 2
    assert run(baseline, "fast.csv").exit_code == 0


def test_results_of_another_tool_are_compared_like_our_own(tmp_path: Path) -> None:
    published = Path(__file__).parents[1] / "report/public/inferencex.json"
    rows = json.loads(published.read_text())
    for one in rows:
        one["p99_ttft"] *= 1.5
    later = tmp_path / "later.json"
    later.write_text(json.dumps(rows))
    assert run(str(published), str(published)).exit_code == 0
    worse = run(str(published), str(later))
    assert worse.exit_code == 1
    verdicts = [line for line in worse.output.splitlines() if line.endswith("REGRESSION")]
    assert [(line.split()[0], line.split()[2]) for line in sorted(verdicts)] == [
        ("b200-vllm-fp4-tp2-ep1", "p99_ttft_ms"),
        ("h100-vllm-fp4-tp4-ep1", "p99_ttft_ms"),
    ]


@pytest.mark.usefixtures("tables")
def test_what_moved_is_drawn_and_written_for_programs() -> None:
    assert run("fast.csv", "slow.csv", "--output", "out", "--tolerance", "p99_ttft_ms=10%").exit_code == 1
    svg, page = Path("out/compare.svg").read_text(), Path("out/compare.html").read_text()
    assert "demo c4 p99_ttft_ms" in " ".join(svg.split())
    assert svg in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/", "")
    told = json.loads(Path("out/compare.json").read_text())
    assert told == json.loads(run("fast.csv", "slow.csv", "--json", "--tolerance", "p99_ttft_ms=10%").output)
    (change,) = [change for change in told["changes"] if change["metric"] == TTFT]
    assert (told["regressions"], change["worse"], change["tolerance"]) == (1, 0.5, 0.1)


@pytest.mark.usefixtures("tables")
def test_a_lost_point_fails_the_gate_unless_it_may() -> None:
    Path("none.csv").write_text("configuration,point,status,reason\ndemo,c4,failed,the gate did not open\n")
    assert run("fast.csv", "none.csv").exit_code == 1
    assert "demo c4: lost: the gate did not open" in run("fast.csv", "none.csv").output
    # Then nothing is left to compare.
    assert run("fast.csv", "none.csv", "--allow-missing").exit_code == 2


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["gone.csv", "fast.csv"], "gone.csv: there is no such file or directory"),
        (["fast.csv", "slow.csv", "--tolerance", "much"], "'much' is no tolerance: write 5%, or METRIC=5%"),
        (["fast.csv", "slow.csv", "--metric", "isl"],
         "isl is no measured number of the tables, such as p99_ttft_ms"),
        (["huge.csv", "huge.csv"],
         "demo c4: p99_ttft_ms cannot be compared: its numbers, from 1e+308 to 1e+308, are beyond what can "
         "be computed"),
        (["recipe.yaml", "fast.csv"],
         "recipe.yaml: a recipe without results; a run writes its recipe.lock.yaml"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_one_sentence_and_exit_code_2(words: list[str], sentence: str) -> None:
    Path("recipe.yaml").write_text("schema: 2\nname: x\n")
    huge = "demo,c4,valid,1e308\ndemo,c4-k1,valid,1e308\n"
    Path("huge.csv").write_text(f"configuration,point,status,p99_ttft_ms\n{huge}")
    done = run(*words)
    assert (done.exit_code, done.output) == (2, f"{sentence}\n")


@pytest.mark.usefixtures("tables")
def test_a_misspelt_number_is_told_with_the_nearest_and_judged_by_nobody() -> None:
    for words in (["--metric", "p99_tttf_ms"], ["--tolerance", "p99_tttf_ms=1%"]):
        done = run("fast.csv", "fast.csv", *words)
        assert done.exit_code == 2
        assert done.output == "no point of either side has p99_tttf_ms; did you mean p99_ttft_ms?\n"


@pytest.mark.usefixtures("tables")
def test_a_page_that_cannot_be_written_is_no_regression() -> None:
    dash = run("fast.csv", "fast.csv", "--output", "-")
    assert (dash.exit_code, Path("-").exists()) == (2, False)
    assert "--output names a directory, and - is none: --json and --markdown are printed" in dash.output
    done = run("fast.csv", "fast.csv", "--output", "/dev/null/x")
    assert done.exit_code == 2
    assert done.output.splitlines()[-1] == "/dev/null/x: Not a directory"


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("row", ["[1]", "7", "fast"])
def test_a_lock_whose_point_is_none_is_told(tmp_path: Path, row: str) -> None:
    lock = tmp_path / "recipe.lock.yaml"
    lock.write_text(f"lock: {{configuration: demo, results: {{c4: {row}}}}}\n")
    done = run(str(lock), "fast.csv")
    assert done.exit_code == 2
    assert "lock.results.c4 is no point" in done.output
