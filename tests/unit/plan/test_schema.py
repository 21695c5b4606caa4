"""JSON Schema: composed from the models, and clear about what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft7Validator

from servesweep.benchmarks import BENCHMARKS
from servesweep.cli import main
from servesweep.plan.json_schema import cluster_schema, recipe_schema
from servesweep.plan.reference_page import reference_page
from servesweep.recipe.source import load, parse

REPOSITORY = Path(__file__).resolve().parents[3]
RECIPES = Draft7Validator(recipe_schema())
CLUSTERS = Draft7Validator(cluster_schema())
HEAD = "schema: 2\nname: demo\nmodel: {path: tiny, precision: fp8}\n"
AGG = "engine: simulator\nroles: {agg: {nodes: 1}}\n"


def accepts(text: str) -> bool:
    return bool(RECIPES.is_valid(parse(text, "r.yaml").data))


def errors(text: str) -> list[str]:
    """Each fault with the key that it is told at."""
    found = RECIPES.iter_errors(parse(text, "r.yaml").data)
    return [": ".join([*([".".join(map(str, e.path))] if e.path else []), e.message]) for e in found]


def test_they_are_schemas() -> None:
    Draft7Validator.check_schema(recipe_schema())
    Draft7Validator.check_schema(cluster_schema())


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


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("benchmark: {type: sa-bench, osl: 8, concurrencies: 1}\n",
         ["benchmark: 'isl' is a required property"]),
        ("benchmark: sa-bench\n", ["benchmark: 'sa-bench' is not of type 'object'"]),
        ("benchmark: {isl: 8}\n", ["benchmark: 'type' is a required property"]),
        ("benchmark: {type: sa}\n", [f"benchmark.type: 'sa' is not one of {sorted(BENCHMARKS)}"]),
        (
            "benchmark: {type: manual, isl: 8}\n",
            ["benchmark: Additional properties are not allowed ('isl' was unexpected)"],
        ),
        (
            "services: [{name: r, type: ray, options: {prot: 1}}]\n",
            ["services.0.options: Additional properties are not allowed ('prot' was unexpected)"],
        ),
        (
            "frontend: {type: sglang-router, args: {worker_urls: x}}\n",
            ["frontend.args: 'worker_urls' should not be valid under {'pattern':"
             " '^(decode|host|pd[-_]disaggregation|port|prefill|worker[-_]urls)$'}"],
        ),
    ],
)  # fmt: skip
def test_one_fault_is_told_as_that_fault(more: str, told: list[str]) -> None:
    assert errors(HEAD + AGG + more) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "engine: {type: vllm, conector: nixl}\nroles: {agg: {nodes: 1}}\n",
            ["engine: Additional properties are not allowed ('conector' was unexpected)"],
        ),
        ("engine: command\nroles: {agg: {nodes: 1}}\n", ["engine: 'command' is not of type 'object'"]),
        (
            "engine: sglang\nroles: {agg: {nodes: 1, restart: allways}}\n",
            ["roles.agg.restart: 'allways' is not one of ['never', 'on-failure', 'always']"],
        ),
        (
            "engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: colocate, gpus: 4}}\n",
            ["roles.prefill: 'gpus' is a required property"],
        ),
        ("engine: sglang\nroles: {prefill: {nodes: 1}}\n", ["roles: 'decode' is a required property"]),
        ("engine: sglang\n", ["'roles' is a required property"]),
    ],
)
def test_the_same_of_engines_and_roles(text: str, told: list[str]) -> None:
    assert errors(HEAD + text) == told


def test_a_typo_in_an_override_is_told_though_values_may_be_null_there() -> None:
    told = errors(
        "schema: 2\nbase: {name: x, model: {pth: /m}}\n"
        "override_a: {roles: {agg: {gpu: 4}}, benchmark: {isl: long}, resources: {het_jobs: maybe}}\n"
        "zip_override_b: {roles: {agg: {gpu: [1, 2], nodes: [1, some]}}}\n"
        "override_c: text\n"
    )
    assert "base.model: Additional properties are not allowed ('pth' was unexpected)" in told
    assert "override_a.roles.agg: Additional properties are not allowed ('gpu' was unexpected)" in told
    assert "override_a.benchmark.isl: 'long' is not of type 'integer', 'null'" in told
    assert "override_a.resources.het_jobs: 'maybe' is not of type 'boolean', 'null'" in told
    assert "zip_override_b.roles.agg: Additional properties are not allowed ('gpu' was unexpected)" in told
    assert "zip_override_b.roles.agg.nodes.1: 'colocate' was expected" in told
    assert "override_c: 'text' is not of type 'object'" in told


def test_a_sweep_keeps_what_is_required() -> None:
    text = "engine: sglang\nroles: {agg: {nodes: '{n}'}}\nsweep: {n: [1]}\n"
    assert errors(HEAD + text + "benchmark: {type: sa-bench, isl: '{n}'}\n") == [
        "benchmark: 'osl' is a required property", "benchmark: 'concurrencies' is a required property",
    ]  # fmt: skip


def test_it_is_json_to_every_reader() -> None:
    """Python writes Infinity for a default of inf, and editors then read no schema at all."""
    json.dumps([recipe_schema(), cluster_schema()], allow_nan=False)


def test_the_command_prints_and_writes(tmp_path: Path) -> None:
    shown = CliRunner().invoke(main, ["schema"])
    assert (shown.exit_code, shown.stdout[:1]) == (0, "{")
    target = tmp_path / "cluster.schema.json"
    done = CliRunner().invoke(main, ["schema", "--cluster", "--output", str(target)])
    assert (done.exit_code, done.stdout) == (0, "")
    assert '"servesweep cluster file"' in target.read_text()
    assert CliRunner().invoke(main, ["schema", "--page"]).stdout == reference_page()
