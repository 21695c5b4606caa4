"""The same plan on real nodes, and the same plan from its file."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.plan import Plan, plan_text, read_plan
from servesweep.plan.recipe_files import find_recipes
from servesweep.plan.render import rebind
from servesweep.plan.row import PlanError
from servesweep.plan.sweep import read_what_can_be_read
from servesweep.topology.deployment import Binding

ROOT = Path(__file__).resolve().parents[3]
SITES = ("cluster", "local")


def shipped(site: str) -> dict[str, Plan]:
    """The plan of every recipe that comes with the repository."""
    cluster = read_cluster(str(ROOT / f"config/{site}.yaml"))
    recipes = find_recipes(str(ROOT / "config/recipes"))
    plans, problems = read_what_can_be_read(recipes, cluster, ROOT / "config/recipes")
    # Two clusters of Ray have one port on one machine.
    assert all(site == "local" and "6379" in problem.message for problem in problems)
    return plans


def binding(plan: Plan) -> Binding:
    addresses = {node.name: f"10.0.0.{number}" for number, node in enumerate(plan.nodes, start=1)}
    return Binding(addresses=addresses, logs="/results/logs", scratch="/scratch/17")


def substituted(plan: Plan, bound: Binding) -> str:
    """The plan's text with the symbols written out; longer names first, as ip-n1 begins ip-n10."""
    text = plan_text(plan)
    for node in sorted(bound.addresses, key=len, reverse=True):
        text = text.replace(f"ip-{node}", bound.addresses[node])
    return without_own_names(text.replace("<LOGS>", bound.logs).replace("<SCRATCH>", bound.scratch))


def without_own_names(text: str) -> str:
    """TensorRT-LLM's shared memory has a name of its own in each run, from the scratch directory."""
    return re.sub("moe_shared_[0-9a-f]{32}", "moe_shared", text)


@pytest.mark.parametrize("site", SITES)
def test_a_plan_on_real_nodes_is_the_plan_with_its_symbols_written_out(site: str) -> None:
    plans = shipped(site)
    assert len(plans) >= 7
    for plan in plans.values():
        bound = binding(plan)
        assert without_own_names(plan_text(rebind(plan, bound))) == substituted(plan, bound)


@pytest.mark.parametrize("site", SITES)
def test_a_plan_comes_back_from_its_file_as_it_was(site: str, tmp_path: Path) -> None:
    for plan in shipped(site).values():
        (tmp_path / "plan.json").write_text(plan_text(plan))
        again = read_plan(tmp_path / "plan.json")
        assert again == plan
        assert rebind(again, binding(plan)) == rebind(plan, binding(plan))


@pytest.mark.parametrize("site", SITES)
def test_planning_twice_gives_the_same_bytes(site: str) -> None:
    first = {name: plan_text(plan) for name, plan in shipped(site).items()}
    assert {name: plan_text(plan) for name, plan in shipped(site).items()} == first


def test_infinity_and_null_come_back_from_the_file(plan: Callable[..., Plan], tmp_path: Path) -> None:
    found = plan(
        "engine: {type: vllm, connector: null}\n"
        "roles: {agg: {nodes: 11, workers: 11, args: {seed: null, flag: false, deep: {a: [1, 2]}}}}\n"
        "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: [1, 2], req_rate: [.inf, 2.5]}\n"
    )
    (tmp_path / "plan.json").write_text(plan_text(found))
    again = read_plan(tmp_path / "plan.json")
    assert again == found
    bound = binding(found)
    assert plan_text(rebind(again, bound)) == substituted(found, bound)


def test_notes_stay_when_a_plan_is_bound(plan: Callable[..., Plan]) -> None:
    found = plan("engine: simulator\nreplicas: 1\nrouter: sglang\n")
    assert len(rebind(found, binding(found)).notes) == len(found.notes) == 1


def test_what_stands_in_the_file_can_be_read_by_a_person(plan: Callable[..., Plan]) -> None:
    data = json.loads(plan_text(plan("engine: sglang\nroles: {agg: {nodes: 1}}\n")))
    assert (data["schema"], data["configuration"], data["client"]) == (1, "demo", "n0")
    assert data["resolved"]["engine"] == {"type": "sglang"}
    assert data["resolved"]["schema"] == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "no such plan; `snakemake plan` writes it"),
        ("{", "not a plan of this version (1 validation error for Plan); delete it and run `snakemake plan`"),
        ('{"schema": 9}', "not a plan of this version ("),
    ],
)
def test_a_file_that_is_no_plan_is_told_in_one_line(tmp_path: Path, text: str | None, sentence: str) -> None:
    path = tmp_path / "plan.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(PlanError) as caught:
        read_plan(path)
    assert str(caught.value).startswith(f"{path}: {sentence}")
    assert "\n" not in str(caught.value)
