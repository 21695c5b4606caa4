"""What the charts draw."""

import pytest

from servesweep.report.charts import Charts
from servesweep.report.plan_file import Topology
from servesweep.report.records import deployment, frontier_records, load_axis, valid_records
from servesweep.report.sweep import load_sweep
from servesweep.report.theme import MOST_COLOURED
from servesweep.report.views import VIEWS, X, Y, shown_views


def record(configuration, rank, x, y, workload="m"):
    return {"configuration": configuration, "rank": rank, "workload": workload, X: x, Y: y}


def test_only_valid_points_are_drawn(tree):
    tree.plan("a", {"c1": 1, "c2": 2, "c4": 4})
    tree.result("a", "c1", {X: 100.0, Y: 1234567.89})
    tree.result("a", "c2", {X: 90.0}, digest="older")
    tree.invalid("a", "c4", "no", metrics={X: 1.0})
    [only] = valid_records(load_sweep(tree.root))
    assert only["point"] == "c1"
    assert (only["load"], only[X], only[Y]) == (1.0, 100.0, 1234570.0)
    assert only["workload"] == "tiny-model · ISL 1024 · OSL 128"
    assert only["deployment"] == "1 prefill + 1 decode · 16 GPUs"


def test_the_frontier_is_over_the_means_of_the_repeats():
    lucky = [record("a", 1.0, 10.0, 10.0), record("a", 1.0, 30.0, 30.0)]  # mean (20, 20)
    steady = [record("b", 1.0, 25.0, 25.0)]
    assert frontier_records([*lucky, *steady]) == [record("b", 1.0, 25.0, 25.0)]


def test_every_workload_has_its_own_frontier():
    small, large = record("a", 1.0, 9.0, 9.0, "8B"), record("b", 1.0, 1.0, 1.0, "70B")
    assert frontier_records([small, large]) == [small, large]


def test_a_point_without_both_numbers_is_on_no_frontier():
    assert frontier_records([record("a", 1.0, 9.0, None), record("b", 1.0, None, 9.0)]) == []


def test_the_load_axis_is_the_concurrency_unless_only_the_request_rate_varies(tree):
    for name, concurrency in (("rates", 64), ("both", 1)):
        tree.plan(name, {"c1": 1, "c2": 2})
        for point, rate in (("c1", 0.5), ("c2", "2.5")):
            load = {"isl": 1, "osl": 1, "concurrency": concurrency, "request_rate": rate}
            tree.result(name, point, {}, load=load)
    tree.plan("closed", {"c4": 4})
    tree.result("closed", "c4", {})
    axes = {name: load_axis(load_sweep(tree.root, [name]).points) for name in ("rates", "closed")}
    assert axes == {"rates": "request rate", "closed": "concurrency"}
    assert load_axis(load_sweep(tree.root, ["both", "closed"]).points) == "concurrency"
    assert [r["load"] for r in valid_records(load_sweep(tree.root, ["rates"]))] == [0.5, 2.5]
    assert [r["rank"] for r in valid_records(load_sweep(tree.root, ["rates"]))] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        ({"num_prefill": 2, "num_decode": 1, "total_gpus": 24}, "2 prefill + 1 decode · 24 GPUs"),
        ({"num_agg": 1, "total_gpus": 1}, "1 agg · 1 GPU"),
        ({"num_agg": 4}, "4 agg"),
        ({}, ""),
    ],
)
def test_deployment(topology, said):
    assert deployment(Topology(**topology)) == said


def test_colours_are_fixed_to_configurations_and_give_way_when_there_are_too_many():
    few = Charts([record("a", 1.0, 2.0, 3.0)], ["a", "b"], "concurrency").pareto()
    painted = [layer["encoding"]["color"] for layer in few["layer"] if "color" in layer["encoding"]]
    assert [colour["scale"]["domain"] for colour in painted] == [["a", "b"], ["a", "b"]]
    names = [f"c{i}" for i in range(MOST_COLOURED + 1)]
    many = Charts([record("c0", 1.0, 2.0, 3.0)], names, "concurrency").pareto()
    assert [p["name"] for p in many["params"]] == ["hover"]
    assert all("scale" not in layer["encoding"].get("color", {}) for layer in many["layer"])


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([34.4, 1443.5], [20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0]),
        ([1.0, 100.0], [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]),
        ([0.2, 90000.0], [0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0]),
    ],
)
def test_a_log_axis_runs_between_round_numbers_around_the_values(values, marks):
    points = [
        record("a", 1.0, 2.0, 3.0) | {"load": 1.0, "p50_ttft_ms": value, "p99_ttft_ms": None}
        for value in values
    ]
    spec = Charts(points, ["a"], "concurrency").latency("ttft", "TTFT")
    y = spec["layer"][0]["encoding"]["y"]
    assert y["axis"]["values"] == pytest.approx(marks)
    assert y["scale"]["domain"] == pytest.approx([marks[0], marks[-1]])


def test_close_values_have_a_linear_axis_from_zero():
    points = [record("a", 1.0, 2.0, 3.0) | {"load": 1.0, "p50_itl_ms": 8.0, "p99_itl_ms": 9.0}]
    y = Charts(points, ["a"], "concurrency").latency("itl", "ITL")["layer"][0]["encoding"]["y"]
    assert y["scale"] == {"nice": True, "zero": True}


def test_where_less_is_better_the_frontier_goes_the_other_way():
    [cost] = [view for view in VIEWS if view.key == "cost"]
    key = cost.y
    cheap, fast = {**record("a", 1.0, 20.0, 1.0), key: 2.0}, {**record("a", 2.0, 90.0, 1.0), key: 9.0}
    dear = {**record("b", 1.0, 20.0, 1.0), key: 3.0}
    found = frontier_records([dear, fast, cheap], cost)
    assert [(point[X], point[key]) for point in found] == [(20.0, 2.0), (90.0, 9.0)]
    [latency] = [view for view in VIEWS if view.key == "e2e"]
    quick, late = (
        {**record("a", rank, 1.0, y), latency.x: x} for rank, x, y in ((1.0, 5.0, 9.0), (2.0, 8.0, 20.0))
    )
    beaten = {**record("b", 1.0, 1.0, 8.0), latency.x: 6.0}
    found = frontier_records([late, beaten, quick], latency)
    assert [point[latency.x] for point in found] == [5.0, 8.0]


def test_only_views_that_have_both_measures_are_offered():
    priced = record("a", 1.0, 2.0, 3.0) | {"cost_usd_per_million_output_tokens": 4.0, "p50_e2el_ms": None}
    assert [view.key for view in shown_views([priced])] == ["gpu", "cost"]
