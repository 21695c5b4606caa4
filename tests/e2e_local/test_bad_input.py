"""A user's mistakes: one clear line each, all of them at once, and nothing else happens."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from servesweep.cli import main

BAD = Path(__file__).with_name("bad_recipes")

# Name of the file in bad_recipes: what is said behind its path.
SAID = {
    "alias_of_itself": ":5: roles.agg.args: an alias here refers to a block that contains it",
    "bad_time_limit": (
        ":9: slurm.time_limit: '1:00:00:00' is not a time limit; write \"90\" or 90 (minutes),"
        ' "90:00", "01:30:00", "1-12", "1-12:30" or "1-12:30:00"'
    ),
    "benchmark_without_type": (
        ":7: benchmark.type: the type is missing, and without one nothing is measured: write type: sa-bench"
    ),
    "boolean_in_environment": (
        ":10: environment.TRUST_REMOTE_CODE: programs read true and false in many spellings:"
        ' write the text meant, "true" or "1"'
    ),
    "concurrency_zero": (
        ":11: benchmark.concurrencies: expected whole numbers from 1, as a list or as text like 1x2x4, got 0"
    ),
    "duplicate_key": ":7: engine: duplicate key, first given on line 4",
    "empty": ": the file is empty",
    "engine_twice": (
        ":8: roles.agg.engine: the engine is given at the top too: keep that one, or one on every role"
    ),
    "key_beside_base": (
        ":8: benchmark: beside `base` stand only schema, override_<name> and zip_override_<name>;"
        " put this key into base"
    ),
    "missing_required_key": ":1: model: required key is missing",
    "missing_role": ":5: roles: prefill alone serves nothing: the role decode is missing",
    "not_utf8": ":2: the file is not UTF-8 text (byte 0xf6)",
    "not_yaml": ":6: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping",
    "null_section": ":5: roles: the key has no value: write one, or remove the key",
    "only_comments": ": the file is empty",
    "own_argument": (
        ":8: roles.agg.args.port: servesweep sets this argument itself from the topology: remove it"
    ),
    "quoted_number": ":5: roles.agg.workers: expected a whole number, got '2': write it without quotes",
    "replicas_with_frontend": ":6: frontend: frontend belongs to the roles form: with replicas, say router",
    "replicas_without_router": (
        ":6: benchmark.type: sa-bench over 2 replicas needs a router: say router: sglang"
    ),
    "roles_mixed": (
        ":5: roles: prefill, decode and agg are mixed: a recipe has prefill and decode, or agg alone"
    ),
    "several_documents": ":7: the file holds several documents (`---`); write one recipe a file",
    "several_faults": (
        ':2: name: expected text, got the number 7: write it in quotes, "7"\n'
        ":3: model.precision: required key is missing\n"
        ":5: roles.agg.nodes: expected a number of nodes from 1, or `colocate` for decode, got 0"
    ),
    "sweep_parameter_unused": (
        ':9: sweep.isl: nothing uses this parameter; write "{isl}" where its values belong'
    ),
    "tab_indentation": (
        ":6: not valid YAML: found character that cannot start any token (a tab, or one of % @ `: indent"
        " with spaces and put such text in quotes) while scanning for the next token"
    ),
    "top_level_list": ":1: the top level is a list, not a mapping of `key: value`",
    "unknown_benchmark": ":7: benchmark.type: unknown benchmark 'sabench'; did you mean sa-bench?",
    "unknown_engine": ":4: engine: unknown engine 'simulater'; did you mean simulator?",
    "unknown_engine_option": ":6: engine.speedup: unknown key; did you mean speedup_ratio?",
    "unknown_frontend": ":7: frontend.type: unknown frontend 'sglang_router'; did you mean sglang-router?",
    "unknown_key": ":7: bechmark: unknown key; did you mean benchmark?",
    "unknown_key_in_role": ":8: roles.agg.wokers: unknown key; did you mean workers?",
    "unquoted_number": (':5: model.precision: expected text, got the number 16: write it in quotes, "16"'),
    "workers_do_not_divide": (
        ":8: roles.agg.workers: 8 GPUs (1 x 8) do not divide among 3 workers, 2 would be idle; set gpus"
    ),
    "workers_do_not_fit": (
        ":6: roles.agg.nodes: 3 agg x 4 GPUs do not fit on 1 node of 8 GPUs: agg worker 2 finds no place,"
        " 2 nodes are needed"
    ),
    "wrong_frontend": (
        ":1: frontend.type: the engine simulator does not work under dynamo:"
        " use sglang-router, vllm-router, direct or none"
    ),
    "wrong_type": (
        ":7: roles.agg.nodes: expected a number of nodes from 1, or `colocate` for decode, got 'two'"
    ),
    "zip_lengths_differ": (
        ":12: zip_override_shape.roles.agg.args.ttft-ms: has 2 values,"
        " but zip_override_shape.roles.agg.gpus has 3: lists of a zip have one length or one value"
    ),
}


def expected(name: str) -> list[str]:
    return [f"config/recipes/{name}.yaml{line}" for line in SAID[name].split("\n")]


def everything_below(root: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of every file."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def mistaken(new_project: Any) -> Any:
    """A project of broken recipes, with one good recipe that was measured before."""
    project = new_project("mistaken")
    shutil.copytree(BAD, project.root / "config/recipes", dirs_exist_ok=True)
    good = (BAD / "unknown_key.yaml").read_text().replace("bechmark", "benchmark")
    project.write("config/recipes/good.yaml", good)
    project.write("results/good/run.json", '{"schema": 1}\n')
    project.write("results/good/points/c1/result.json", '{"valid": true}\n')
    project.write("results/summary.csv", "configuration,point\ngood,c1\n")
    return project


def test_every_broken_recipe_is_named_here() -> None:
    assert {path.stem for path in BAD.iterdir()} == set(SAID)
    assert len(SAID) > 20


@pytest.mark.parametrize("name", sorted(SAID))
def test_a_broken_recipe_is_told_in_its_own_lines(
    mistaken: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mistaken.root)
    words = ["validate", f"config/recipes/{name}.yaml", "--cluster", "config/local.yaml"]
    said = CliRunner().invoke(main, words)
    assert said.output.splitlines() == expected(name)
    assert said.exit_code == 1


@pytest.mark.parametrize("words", [("-n",), ()], ids=["dry run", "run"])
def test_all_of_them_are_told_at_once_and_nothing_else_happens(mistaken: Any, words: tuple[str, ...]) -> None:
    before = everything_below(mistaken.root / "results")
    said = mistaken.snakemake(*words, "--config", "recipes=config/recipes")
    lines = [line for name in sorted(SAID) for line in expected(name)]
    assert [line for line in said.stdout.splitlines() if line.startswith("config/recipes/")] == lines
    assert f"{len(lines)} problems; nothing was submitted." in said.stdout
    assert "Traceback" not in said.stdout
    assert "Building DAG" not in said.stdout
    assert said.returncode == 1
    assert everything_below(mistaken.root / "results") == before


@pytest.mark.parametrize(
    ("recipes", "sentence"),
    [
        ("config/recipes/godo.yaml",
         "config/recipes/godo.yaml: no such recipe: no file, no directory, no pattern that matches"),
        ("config/looks-like.yaml",
         "config/looks-like.yaml: the directory holds no recipe (*.yaml or *.yml)"),
        ("config/recipes/good.yaml:override_x",
         "config/recipes/good.yaml: there is no variant 'override_x': this recipe is one configuration"),
        ("", "recipes: no recipe is named: say --config recipes=FILE"),
    ],
)  # fmt: skip
def test_a_recipe_that_is_not_there(mistaken: Any, recipes: str, sentence: str) -> None:
    (mistaken.root / "config/looks-like.yaml").mkdir(exist_ok=True)
    said = mistaken.snakemake("-n", "--config", f"recipes={recipes}")
    assert sentence in said.stdout.splitlines()
    assert "1 problem; nothing was submitted." in said.stdout
    assert "Traceback" not in said.stdout
    assert said.returncode == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("launcher: local\ndefualt_partition: batch\n",
         "config/site.yaml:2: defualt_partition: unknown key; did you mean default_partition?"),
        ("launcher: local\ngpus_per_node: none\n",
         "config/site.yaml:2: gpus_per_node: expected a whole number, got 'none'"),
        (None, "config/site.yaml: there is no such file"),
    ],
)  # fmt: skip
def test_a_broken_cluster_file(mistaken: Any, text: str | None, sentence: str) -> None:
    (mistaken.root / "config/site.yaml").unlink(missing_ok=True)
    if text is not None:
        mistaken.write("config/site.yaml", text)
    said = mistaken.snakemake(
        "-n", "--config", "recipes=config/recipes/good.yaml", "cluster=config/site.yaml"
    )
    assert sentence in said.stdout.splitlines()
    assert "Traceback" not in said.stdout
    assert said.returncode == 1


def test_a_model_that_is_not_there_is_told_before_anything_runs(mistaken: Any) -> None:
    good = (mistaken.root / "config/recipes/good.yaml").read_text()
    mistaken.write("other/recipe.yaml", good.replace("path: tiny", "path: tyni"))
    said = mistaken.servesweep("validate", "other/recipe.yaml", "--cluster", "config/local.yaml")
    assert said.stdout.splitlines() == [
        "other/recipe.yaml:3: model.path: 'tyni' is no directory, and no alias of the cluster file"
        " (there are: tiny); planning for another machine? `preflight: false` in the cluster file, or"
        " --no-preflight, does not look"
    ]
    assert said.returncode == 1


def test_the_good_recipe_among_them_is_good(mistaken: Any) -> None:
    said = mistaken.snakemake("-n", "--config", "recipes=config/recipes/good.yaml")
    assert said.returncode == 0, said.stdout
    assert "validate" in said.stdout
