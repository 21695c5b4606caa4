"""JSON Schema and reference page: composed from the models, and in step with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from servesweep.benchmarks import BENCHMARKS
from servesweep.cli import main
from servesweep.engines import ENGINES
from servesweep.plan.json_schema import cluster_schema, models_in, recipe_schema
from servesweep.plan.reference_page import reference_page
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.section import Choice
from servesweep.recipe.source import load, parse

REPOSITORY = Path(__file__).resolve().parents[3]
RECIPES = Draft202012Validator(recipe_schema())
CLUSTERS = Draft202012Validator(cluster_schema())
HEAD = "schema: 2\nname: demo\nmodel: {path: tiny, precision: fp8}\n"
AGG = "engine: simulator\nroles: {agg: {nodes: 1}}\n"


def accepts(text: str) -> bool:
    return bool(RECIPES.is_valid(parse(text, "r.yaml").data))


def test_they_are_schemas() -> None:
    Draft202012Validator.check_schema(recipe_schema())
    Draft202012Validator.check_schema(cluster_schema())


@pytest.mark.parametrize(
    "file", sorted((REPOSITORY / "config/recipes").rglob("*.yaml")), ids=lambda p: p.name
)
def test_the_recipes_of_this_repository_are_accepted(file: Path) -> None:
    assert RECIPES.is_valid(load(file).data)


@pytest.mark.parametrize("name", ["cluster.yaml", "local.yaml"])
def test_the_cluster_files_of_this_repository_are_accepted(name: str) -> None:
    assert CLUSTERS.is_valid(load(REPOSITORY / "config" / name).data)
    assert not CLUSTERS.is_valid({"cluster": "lab", "partition": "x"})


@pytest.mark.parametrize(
    "more",
    [
        "benchmark: manual\n",
        "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1x4, req_rate: inf}\n",
        "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: [1, '2']}\n",
        "benchmark: {type: manual, placement: {node: dedicated}}\n",
        "resources: {het_jobs: null}\n",
        "slurm: {time_limit: 02:00:00}\n",
        "slurm: {time_limit: 90}\n",
        "environment: {A: 1, B: x}\n",
        "frontend: {type: vllm-router}\n",
        "services: [{name: etcd, type: etcd}]\n",
    ],
)
def test_what_may_be_written_is_accepted(more: str) -> None:
    assert accepts(HEAD + AGG + more)


@pytest.mark.parametrize(
    "role",
    ["{nodes: 1, restart: on-failure}", "{nodes: 1, kv_events: true}", "{nodes: 1, kv_events: {topic: x}}",
     "{nodes: 1, engine: {type: vllm, connector: null}}"],
)  # fmt: skip
def test_short_forms_are_accepted(role: str) -> None:
    assert accepts(HEAD + f"engine: sglang\nroles: {{agg: {role}}}\n")


@pytest.mark.parametrize(
    "text",
    [
        AGG,
        HEAD + AGG + "bechmark: manual\n",
        HEAD + AGG + "benchmark: {type: sa-bench, isl: 8}\n",
        HEAD + AGG + "benchmark: {type: custom, command: x, isl: 8}\n",
        HEAD + AGG + "frontend: {type: nope}\n",
        HEAD + "engine: {type: simulator, connector: nixl}\nroles: {agg: {nodes: 1}}\n",
        HEAD + "engine: trt\nroles: {agg: {nodes: 1}}\n",
        HEAD + "engine: sglang\nroles: {agg: {nodes: some}}\n",
        HEAD + "engine: sglang\nroles: {agg: {nodes: 1, gpus: null}}\n",
        "base: {name: x}\nother: {}\n",
    ],
)
def test_what_may_not_be_written_is_not(text: str) -> None:
    assert not accepts(text)


def test_overrides_and_sweeps_are_accepted_with_their_own_freedom() -> None:
    assert accepts(
        "schema: 2\nbase: {name: x, engine: sglang}\n"
        "override_a: {roles: {agg: {gpus: null}}, benchmark: {osl: 8}}\nzip_override_b: {name: [a, b]}\n"
    )
    assert accepts(HEAD + "engine: sglang\nroles: {agg: {nodes: '{n}'}}\nsweep: {n: [1, 2]}\n")
    assert not accepts("base: {name: x, roels: {}}\n")


def keys(model: Any, prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        if issubclass(model, Choice) and name == "options":
            continue
        yield key
        if name in ("decode", "agg") or name.startswith("default_"):
            continue
        for inner in models_in(field.annotation):
            if not issubclass(inner, Choice):
                yield from keys(inner, f"{key}[]." if "tuple" in str(field.annotation) else f"{key}.")


def test_the_page_names_every_key_and_option() -> None:
    page = reference_page()
    for key in [*keys(Recipe), *keys(Cluster)]:
        assert f"| `{key}` |" in page
    for kind in (*ENGINES.values(), *BENCHMARKS.values()):
        assert f"### {kind.name}\n" in page
        for option in kind.Options.model_fields:
            assert f"| `{option}` |" in page


def test_the_page_in_the_repository_is_in_step() -> None:
    written = (REPOSITORY / "docs/recipe-reference.md").read_text()
    assert written == reference_page(), (
        "docs/recipe-reference.md is out of step: servesweep schema --page --output docs/recipe-reference.md"
    )


def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    shown = CliRunner().invoke(main, ["schema"])
    assert (shown.exit_code, shown.stdout[:1]) == (0, "{")
    target = tmp_path / "cluster.schema.json"
    done = CliRunner().invoke(main, ["schema", "--cluster", "--output", str(target)])
    assert (done.exit_code, done.stdout) == (0, "")
    assert '"servesweep cluster file"' in target.read_text()
    assert CliRunner().invoke(main, ["schema", "--page"]).stdout == reference_page()
