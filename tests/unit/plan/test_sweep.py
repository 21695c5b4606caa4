"""Which recipes are meant, and the table of their configurations behind the workflow."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from servesweep.plan.plan import Plan
from servesweep.plan.preflight import ELSEWHERE, preflight
from servesweep.plan.recipe_files import RecipeFile, find_recipes
from servesweep.plan.row import PlanError
from servesweep.plan.sweep import read_recipe_file, read_sweep
from servesweep.plan.sweep_table import SweepTable, validate_recipe, write_sweep_list
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError

PLAIN = """\
schema: 2
name: demo
model: {path: tiny, precision: fp8}
engine: simulator
roles: {agg: {nodes: 1}}
frontend: {type: direct}
"""
BASE = "base:\n" + "".join(f"  {line}\n" for line in PLAIN.splitlines())
FAMILY = BASE + "override_a: {}\noverride_b: {resources: {gpus_per_node: 4}}\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two recipes, a family of variants, and a file that is none."""
    monkeypatch.chdir(tmp_path)
    write("config/recipes/one.yaml", PLAIN)
    write("config/recipes/deep/two.yml", PLAIN)
    write("config/recipes/family.yaml", FAMILY)
    write("config/recipes/notes.txt", "not a recipe")
    write("config/cluster.yaml", "launcher: local\nmodel_paths: {tiny: models/tiny}\n")
    return tmp_path


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def table(recipes: Any = "config/recipes", **config: Any) -> SweepTable:
    return SweepTable.from_config({"recipes": recipes, "cluster": "config/cluster.yaml", **config})


def complaint(**config: Any) -> str:
    with pytest.raises(RecipeError) as caught:
        SweepTable.from_config(config)
    return str(caught.value)


def wildcards(**values: str) -> Any:
    return SimpleNamespace(**values)


def test_a_directory_stands_for_its_recipes_at_any_depth() -> None:
    assert find_recipes("config/recipes") == [
        RecipeFile("config/recipes/deep/two.yml"),
        RecipeFile("config/recipes/family.yaml"),
        RecipeFile("config/recipes/one.yaml"),
    ]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("config/recipes/one.yaml", ["one.yaml"]),
        ("config/recipes/*.yaml", ["family.yaml", "one.yaml"]),
        ("config/recipes/**/*.yml", ["deep/two.yml"]),
        ("config/recipes/one.yaml config/recipes/family.yaml", ["one.yaml", "family.yaml"]),
        ("config/recipes/one.yaml,config/recipes/family.yaml", ["one.yaml", "family.yaml"]),
        (["config/recipes/one.yaml", "config/recipes/one.yaml"], ["one.yaml"]),
    ],
)
def test_files_patterns_and_lists_in_their_order_and_each_once(named: Any, expected: list[str]) -> None:
    assert [recipe.path for recipe in find_recipes(named)] == [f"config/recipes/{name}" for name in expected]


def test_a_variant_is_named_after_a_colon() -> None:
    assert find_recipes("config/recipes/family.yaml:override_a") == [
        RecipeFile("config/recipes/family.yaml", "override_a")
    ]
    assert list(table("config/recipes/family.yaml:override_b").plans) == ["family_b"]


def test_selectors_of_one_file_may_overlap() -> None:
    named = "config/recipes/family.yaml config/recipes/family.yaml:override_a"
    assert list(table(named).plans) == ["family_a", "family_b"]


def test_two_files_may_not_give_one_name() -> None:
    write("config/recipes/one.yml", PLAIN)
    with pytest.raises(RecipeError) as caught:
        table()
    assert str(caught.value) == (
        "config/recipes/one.yml: gives one, as config/recipes/one.yaml does: rename one of the files"
    )


def test_braces_are_snakemakes_in_paths_alone() -> None:
    write("odd/{x}.yaml", PLAIN)
    assert complaint(recipes="odd", cluster="config/cluster.yaml") == (
        "odd/{x}.yaml: Snakemake takes braces in a path for a wildcard: rename the file or directory"
    )
    found = SweepTable("config/cluster.yaml", ["roles.agg.args.foo={a}"])
    assert found.setting_words(wildcards()) == ["--set=roles.agg.args.foo={a}"]


def test_a_configuration_is_not_called_as_a_file_of_the_results() -> None:
    write("config/recipes/summary.csv.yaml", PLAIN)
    told = complaint(recipes="config/recipes/summary.csv.yaml", cluster="config/cluster.yaml")
    assert "and the results have a file of that name: rename it" in told


def test_every_name_that_means_nothing_is_told() -> None:
    told = complaint(recipes="config/recipes/on.yaml config/nowhere/ x*.yaml", cluster="config/cluster.yaml")
    assert told.splitlines() == [
        f"{name}: no such recipe: no file, no directory, no pattern that matches"
        for name in ("config/recipes/on.yaml", "config/nowhere/", "x*.yaml")
    ]


def test_a_directory_without_recipes_is_told() -> None:
    Path("empty").mkdir()
    told = complaint(recipes="empty", cluster="config/cluster.yaml")
    assert told == "empty: the directory holds no recipe (*.yaml or *.yml)"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"recipes": None}, "recipes: no recipe is named: say --config recipes=FILE"),
        ({"recipes": ""}, "recipes: no recipe is named: say --config recipes=FILE"),
        ({"recipes": []}, "recipes: no recipe is named: say --config recipes=FILE"),
        ({}, "recipes: no recipe is named: say --config recipes=FILE"),
        ({"recipes": 3}, "config: recipes: expected file names, as text or a list, got 3"),
        ({"recipes": {"a": "b"}}, "config: recipes: expected file names, as text or a list, got a mapping"),
        ({"recipes": ["a", None]}, "config: recipes: expected file names, as text or a list, got a list"),
        (
            {"recipes": "config/recipes", "cluster": None},
            "config: cluster: the configuration names no cluster: say --config cluster=FILE,"
            " the cluster file, such as config/local.yaml",
        ),
        (
            {"recipes": "config/recipes", "cluster": "config/clutser.yaml"},
            "config/clutser.yaml: there is no such file",
        ),
    ],
)
def test_a_configuration_that_names_nothing_is_told(config: dict[str, Any], expected: str) -> None:
    assert complaint(**{"cluster": "config/cluster.yaml", **config}) == expected


def test_faults_of_all_files_are_told_together() -> None:
    write("config/recipes/bad.yaml", PLAIN.replace("simulator", "simulater"))
    write("config/recipes/worse.yaml", "- a\n- b\n")
    with pytest.raises(RecipeError) as caught:
        table()
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == [
        "config/recipes/bad.yaml:4",
        "config/recipes/worse.yaml:1",
    ]


def test_one_value_is_set_from_outside() -> None:
    changed = table(set="resources.gpus_per_node=2 name=other")
    assert {plan.topology.gpus_per_node for plan in changed.plans.values()} == {2}
    assert {plan.name for plan in changed.plans.values()} == {"other"}
    assert table(set=["resources.gpus_per_node=2"]).plans["one"].topology.gpus_per_node == 2


@pytest.mark.parametrize(
    ("assignment", "expected"),
    [
        ("nothing",
         "set: 'nothing' has no `=`: write key=value with a dotted key, as roles.decode.workers=4"),
        ("name.first=x", "set: 'name.first' leads through 'name', which is a value, not a section"),
        ("roles.agg.workers=two",
         "config/recipes/one.yaml: roles.agg.workers: expected a whole number, got 'two'"
         " (set on the command line)"),
        ("rolls=2",
         "config/recipes/one.yaml: rolls: unknown key; did you mean roles? (set on the command line)"),
    ],
)  # fmt: skip
def test_a_bad_setting_is_told(assignment: str, expected: str) -> None:
    with pytest.raises(RecipeError) as caught:
        table("config/recipes/one.yaml", set=[assignment])
    assert str(caught.value) == expected


def test_a_lockfile_is_its_recipe_again() -> None:
    write("config/recipes/again.yaml", f"{PLAIN}\nlock:\n  version: 2\n  results: {{}}\n")
    found = table().plans
    assert found["again"].digest == found["one"].digest
    write("config/recipes/kin.yaml", f"{FAMILY}\nlock: {{version: 2, slurm: {{job_id: '7'}}}}\n")
    assert [name for name in table().plans if name.startswith("kin")] == ["kin_a", "kin_b"]


def test_the_table_knows_where_a_configuration_comes_from() -> None:
    found = table()
    assert list(found.plans) == ["deep.two", "family_a", "family_b", "one"]
    assert found.recipe_file(wildcards(recipe="deep.two")) == "config/recipes/deep/two.yml"
    assert found.records() == [
        Path("results/.validated/deep.two.json"),
        Path("results/.validated/family.json"),
        Path("results/.validated/one.json"),
    ]
    assert found.record(wildcards(configuration="family_b")) == Path("results/.validated/family.json")
    assert found.run_records()[1] == Path("results/family_a/run.json")
    assert found.lockfiles()[3] == Path("results/one/recipe.lock.yaml")
    assert found.recipe_words(wildcards(recipe="family")) == ["config/recipes/family.yaml"]
    listed = {"schema": 1, "configurations": list(found.plans), "gpu_quota": None}
    assert json.loads(write_sweep_list(found)) == listed


def test_the_table_hands_requests_and_digests_to_the_rules() -> None:
    found = table()
    row = wildcards(configuration="family_b")
    assert found.digest(row) == found.plans["family_b"].digest
    assert found.request("nodes")(row) == 1
    assert found.request("slurm_extra")(row) == "--gpus-per-node=4"
    # The executor takes 0 for "do not ask" and refuses nothing at all.
    assert found.request("mem_mb")(row) == 0
    assert found.request("slurm_account")(row) == ""
    assert found.digests(wildcards(recipe="family")) == [
        f"{name}={found.plans[name].digest}" for name in ("family_a", "family_b")
    ]


def test_a_resource_is_a_value_where_the_whole_sweep_asks_the_same() -> None:
    found = table()
    values = {name: found.resource(name) for name in ("nodes", "mem_mb", "slurm_account", "qos")}
    assert values == {"nodes": 1, "mem_mb": 0, "slurm_account": "", "qos": None}
    # This family has another number of GPUs, so each job is asked.
    asked = found.resource("slurm_extra")
    assert [asked(wildcards(configuration=name)) for name in ("family_b", "one")] == [
        "--gpus-per-node=4",
        "--gpus-per-node=8",
    ]


def test_runs_take_turns_in_the_order_of_the_table_behind_all_validations() -> None:
    found = table("config/recipes/one.yaml config/recipes/family.yaml")
    runs = [found.turn(wildcards(configuration=name)) for name in ("one", "family_a", "family_b")]
    validations = [found.turn_of_recipe(wildcards(recipe=name)) for name in ("one", "family")]
    assert (validations, found.before_all_runs, runs) == ([6, 5], 4, [3, 2, 1])
    assert SweepTable("config/cluster.yaml").turn(wildcards(configuration="one")) == 0


def test_a_quota_is_shared_by_the_gpus_of_each_configurations_nodes() -> None:
    found = table()
    assert found.share_of_quota() == 0
    found.limit_gpus(16)
    asked = found.share_of_quota()
    assert [asked(wildcards(configuration=name)) for name in ("family_b", "one")] == [4, 8]
    assert json.loads(write_sweep_list(found))["gpu_quota"] == 16
    alike = table("config/recipes/one.yaml")
    alike.limit_gpus(8)
    assert alike.share_of_quota() == 8


def test_what_is_larger_than_the_quota_is_refused_and_does_not_wait_for_ever() -> None:
    with pytest.raises(RecipeError) as caught:
        table().limit_gpus(4)
    assert str(caught.value).splitlines() == [
        f"config/recipes/{file}: {name} needs 8 GPUs (1 node of 8), and the sweep may hold 4 at once: "
        "raise gpu_quota, or make it smaller"
        for file, name in (("deep/two.yml", "deep.two"), ("family.yaml", "family_a"), ("one.yaml", "one"))
    ]


def test_a_configuration_outside_the_sweep_is_refused() -> None:
    with pytest.raises(PlanError, match="other is no configuration of the recipes that are named"):
        table().plan("other")


def test_validation_reads_what_was_named() -> None:
    Path("models/tiny").mkdir(parents=True)
    words = ["config/recipes/family.yaml:override_b", "config/recipes/one.yaml"]
    plans = validate_recipe(words, "config/cluster.yaml", ["resources.gpu_type=b200"])
    assert [(plan.configuration, plan.gpu_type) for plan in plans] == [("family_b", "b200"), ("one", "b200")]


def planned(text: str, **site: Any) -> Plan:
    write("r.yaml", text)
    cluster = Cluster.model_validate({"launcher": "local", **site})
    return read_recipe_file(RecipeFile("r.yaml"), cluster, Path())[0][1]


def refusals(plan: Plan) -> list[str]:
    return [str(problem) for problem in preflight(plan)]


def test_preflight_looks_for_the_model() -> None:
    Path("models/tiny").mkdir(parents=True)
    alias = {"tiny": "models/tiny", "large": "models/large"}
    assert preflight(planned(PLAIN, model_paths=alias)) == []
    assert preflight(planned(PLAIN.replace("path: tiny", "path: models/tiny"))) == []
    assert preflight(planned(PLAIN.replace("path: tiny", "path: 'hf:org/model'"))) == []
    assert refusals(planned(PLAIN.replace("path: tiny", "path: tinny"), model_paths=alias)) == [
        "r.yaml: model.path: 'tinny' is no directory, and no alias of the cluster file"
        f" (did you mean tiny? there are: large, tiny){ELSEWHERE}"
    ]
    assert refusals(planned(PLAIN.replace("path: tiny", "path: large"), model_paths=alias)) == [
        "r.yaml: model.path: 'large' is models/large in the cluster file, and there is no such directory"
        f"{ELSEWHERE}"
    ]


def test_preflight_looks_for_the_files_of_the_load() -> None:
    Path("tiny").mkdir()
    body = "isl: 8, osl: 8, custom_tokenizer: own/tokenizer.json, concurrencies: 1"
    load = f"benchmark: {{type: sa-bench, {body}}}\n"
    assert refusals(planned(PLAIN + load)) == [
        "r.yaml: benchmark.custom_tokenizer: there is no such file: own/tokenizer.json"
    ]
    write("own/tokenizer.json", "{}")
    assert refusals(planned(PLAIN + load)) == []


def test_validation_tells_the_line_of_what_is_missing() -> None:
    write("cluster.yaml", "launcher: local\n")
    write("r.yaml", PLAIN.replace("path: tiny", "path: tyni"))
    with pytest.raises(RecipeError, match=r"^r\.yaml:3: model\.path: 'tyni' is no directory"):
        validate_recipe(["r.yaml"], "cluster.yaml", [])


def test_a_fault_of_a_value_from_the_command_line_is_not_one_of_the_file() -> None:
    write("cluster.yaml", "launcher: local\n")
    write("r.yaml", PLAIN)
    with pytest.raises(RecipeError) as told:
        validate_recipe(["r.yaml"], "cluster.yaml", ["resources.gpus_per_node=many"])
    assert str(told.value) == (
        "r.yaml: resources.gpus_per_node: expected a whole number, got 'many' (set on the command line)"
    )


def test_preflight_looks_for_programs_where_they_will_run() -> None:
    Path("tiny").mkdir()
    engine = "{type: command, argv: [no-such-server, '{port}']}"
    missing = PLAIN.replace("engine: simulator", f"engine: {engine}")
    assert refusals(planned(missing)) == ["r.yaml: program 'no-such-server' is not installed on this machine"]
    assert refusals(planned(missing, launcher="slurm")) == []


def test_a_grid_gives_a_plan_each(plans: Callable[..., list[Plan]]) -> None:
    grid = (
        PLAIN.replace("nodes: 1", "nodes: 1, args: {a: '{a}', b: '{b}'}")
        + "sweep: {a: [1, 2], b: [x, y, z]}\n"
    )
    found = plans(grid, head="")
    assert len(found) == 6
    assert len({plan.digest for plan in found}) == 6
    words = [" ".join(plan.steps[0].command.argv) for plan in found]
    assert [re.findall(r"--[ab] \w", text) for text in words][:2] == [["--a 1", "--b x"], ["--a 1", "--b y"]]


def test_a_sweep_of_one_name_twice_is_read_once() -> None:
    cluster = Cluster(launcher="local")
    recipes = [RecipeFile("config/recipes/one.yaml"), RecipeFile("config/recipes/one.yaml")]
    assert list(read_sweep(recipes, cluster, Path("config/recipes"))) == ["one"]
