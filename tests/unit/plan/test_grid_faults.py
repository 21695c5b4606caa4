"""A wrong value of a grid is told where it stands, and a mistake once for all points."""

from collections.abc import Callable
from pathlib import Path

import pytest

from servesweep.plan.sweep_table import validate_recipe
from servesweep.recipe.grid_faults import told_once
from servesweep.recipe.grid_values import GridValue
from servesweep.recipe.problems import Problem, RecipeError

REST = """\
engine: sglang
frontend: {type: sglang-router}
resources: {gpu_type: h100, gpus_per_node: 8}
"""
Complaint = Callable[..., str]


def grid(sweep: str, agg: str) -> str:
    """A recipe whose `sweep` begins in line 8, and whose role is its last line."""
    return f"{REST}sweep:\n{sweep}roles:\n  agg: {{nodes: 1, {agg}}}\n"


def test_a_wrong_value_is_told_at_its_own_line(complaint: Complaint) -> None:
    text = grid('  tp:\n    - 4\n    - "x"\n  mem: [0.8, 0.9]\n', 'gpus: "{tp}", args: {mem: "{mem}"}')
    assert complaint(text) == (
        "demo.yaml:10: sweep.tp[1]: expected a whole number, got 'x' (used at roles.agg.gpus)"
    )


def test_a_value_that_is_used_twice_is_told_once_with_both_places(complaint: Complaint) -> None:
    text = grid('  n: [1, "x"]\n', 'gpus: "{n}", workers: "{n}", args: {mem: "a{n}"}')
    assert complaint(text) == (
        "demo.yaml:8: sweep.n[1]: expected a whole number, got 'x'"
        " (used at roles.agg.workers and roles.agg.gpus)"
    )


def test_the_only_value_may_be_the_wrong_one(complaint: Complaint) -> None:
    text = grid("  on: [true]\n", 'gpus: "{on}"')
    assert complaint(text) == (
        "demo.yaml:8: sweep.on[0]: expected a whole number, got true (used at roles.agg.gpus)"
    )


def test_an_item_of_a_value_that_is_a_list(complaint: Complaint) -> None:
    text = grid("  c: [[1, 2], [4, 0]]\n", "gpus: 1")
    text += 'benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: "{c}"}\n'
    assert complaint(text).startswith("demo.yaml:8: sweep.c[1]")
    assert complaint(text).endswith("(used at benchmark.concurrencies)")


def test_a_value_within_a_longer_text(complaint: Complaint) -> None:
    text = grid("  c: [4, y]\n", "gpus: 1")
    text += 'benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: "{c}x8"}\n'
    assert complaint(text).startswith("demo.yaml:8: sweep.c[1]: ")
    assert complaint(text).endswith("(used at benchmark.concurrencies)")


@pytest.mark.parametrize("values", ["[1, 2]", "[1]", "[1, 1]"])
def test_what_is_wrong_with_any_value_is_told_at_its_place(values: str, complaint: Complaint) -> None:
    told = complaint(grid(f"  n: {values}\n", 'args: {nnodes: "{n}"}'))
    assert told == (
        "demo.yaml:10: roles.agg.args.nnodes:"
        " servesweep sets this argument itself from the topology: remove it"
    )


def test_a_sentence_with_other_numbers_at_each_point_is_told_of_the_first(complaint: Complaint) -> None:
    text = grid("  tp: [4, 9]\n  n: [1, 2]\n", 'gpus: "{n}", args: {tp-size: "{tp}"}')
    assert complaint(text) == (
        "demo.yaml:11: roles.agg.args: the parallel sizes need 4 GPUs, and each worker has 1: make them"
        " smaller, or give workers more (and likewise at 3 other points of the grid)"
    )


def test_a_value_that_is_not_on_this_machine(plans: Callable[..., object]) -> None:
    Path("site.yaml").write_text("launcher: slurm\ndefault_partition: batch\n")
    text = grid('  dir: [., "/no/such/model"]\n', "gpus: 1")
    plans(text, head='schema: 2\nname: demo\nmodel: {path: "{dir}", precision: fp8}\n')
    with pytest.raises(RecipeError) as caught:
        validate_recipe(["demo.yaml"], "site.yaml", [])
    assert str(caught.value).startswith("demo.yaml:8: sweep.dir[1]: '/no/such/model' is no directory")
    assert str(caught.value).endswith("(used at model.path)")


def test_a_value_from_the_command_line_is_none_of_the_grid(plans: Callable[..., object]) -> None:
    plans(grid("  n: [1, 2]\n", 'gpus: "{n}"'))
    Path("site.yaml").write_text("launcher: slurm\ndefault_partition: batch\npreflight: false\n")
    with pytest.raises(RecipeError) as caught:
        validate_recipe(["demo.yaml"], "site.yaml", ["roles.agg.gpus=x"])
    assert str(caught.value) == (
        "demo.yaml: roles.agg.gpus: expected a whole number, got 'x' (set on the command line)"
    )


SERVICES = """\
services:
  - {name: a, type: generic, command: [no-such-a]}
  - {name: b, type: generic, command: [no-such-b]}
"""


@pytest.mark.parametrize(
    ("services", "missing"),
    [
        (SERVICES, ["no-such-a", "no-such-b"]),
        (SERVICES.replace("no-such-b", "'no-such-{n}'"), ["no-such-a", "no-such-1", "no-such-2"]),
    ],
)
def test_all_faults_of_a_point_are_told_that_differ_in_one_word(
    services: str, missing: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("site.yaml").write_text("launcher: local\n")
    head = "schema: 2\nname: demo\nmodel: {path: ., precision: fp8}\n"
    Path("demo.yaml").write_text(head + grid("  n: [1, 2]\n", 'gpus: "{n}"') + services)
    with pytest.raises(RecipeError) as caught:
        validate_recipe(["demo.yaml"], "site.yaml", [])
    for name in missing:
        assert str(caught.value).count(f"program {name!r} is not installed on this machine") == 1


def test_of_faults_in_other_words_each_one_of_a_point_is_told() -> None:
    values = [(GridValue("n", at, at, 1, 1, 2, (), ()),) for at in range(2)]
    found = [
        (at, Problem("r.yaml", 3, "roles", f"{name!r} is no {n}"))
        for n, at in enumerate(values)
        for name in "ab"
    ]
    assert [problem.message for problem in told_once(found)] == [
        f"{name!r} is no 0 (and likewise at 1 other point of the grid)" for name in "ab"
    ]


def test_a_fault_beside_the_one_of_another_point_is_told_too() -> None:
    one, other = ((GridValue("n", at, at, 1, 1, 2, (), ()),) for at in range(2))
    first, second = (Problem("r.yaml", 3, "roles", f"{name!r} is none") for name in "ab")
    assert told_once([(one, first), (other, second), (other, first)]) == [first, second]
