"""The reference page: every key that can be written, found where a reader looks, with examples that load."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from servesweep.benchmarks import BENCHMARKS
from servesweep.engines import ENGINES
from servesweep.frontends import FRONTENDS
from servesweep.plan.plan import Plan
from servesweep.plan.reference_examples import CLUSTER, EXAMPLES, NOTES, WHOLE_FILES
from servesweep.plan.reference_page import reference_page
from servesweep.plan.reference_tables import anchor, sections
from servesweep.plan.reference_types import fits
from servesweep.plan.schema_definitions import models_in
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.profiling import ProfiledSteps
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.roles import RoleSection
from servesweep.recipe.section import Choice
from servesweep.services import SERVICES

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = reference_page()
HEADINGS = re.findall(r"^#+ (.*)$", re.sub(r"(?s)```.*?```", "", PAGE), re.MULTILINE)
# Keys that hold the same section, each named by this word.
WORDS: Mapping[type[BaseModel], str] = {RoleSection: "<role>", ProfiledSteps: "<phase>"}
HEAD = "{schema: 2, name: demo, model: {path: tiny, precision: fp8}}"
GRIDS = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Every key path that the loader reads, below roles and phases under the common word."""
    for name, field in model.model_fields.items():
        if issubclass(model, Choice) and name == "options":
            continue
        key = f"{prefix}{field.alias or name}"
        yield key
        for inner in models_in(field.annotation):
            below = f"{prefix}{WORDS[inner]}" if inner in WORDS else key
            if not issubclass(inner, Choice):
                yield from keys(inner, f"{below}[]." if "tuple" in str(field.annotation) else f"{below}.")


def test_it_names_every_key_of_a_recipe() -> None:
    missing = [key for key in keys(Recipe) if f"| `{key}` |" not in PAGE]
    assert missing == []


def test_it_names_every_key_of_a_cluster_file_and_tells_a_section_once() -> None:
    for name in Cluster.model_fields:
        assert f"\n| `{name}` |" in PAGE.partition("## Cluster file")[2]
    assert "| `default_health_check` | [mapping](#health_check) |" in PAGE
    assert PAGE.count("| `reporting.status.endpoint` |") == 1


@pytest.mark.parametrize(
    ("kind", "prefix", "registry"),
    [
        ("engine", "engine.", ENGINES),
        ("benchmark", "benchmark.", BENCHMARKS),
        ("service", "services[].options.", SERVICES),
    ],
)  # fmt: skip
def test_it_names_every_option_of_every_type(kind: str, prefix: str, registry: Mapping[str, Any]) -> None:
    for name, registered in registry.items():
        options = [*keys(registered.Options)]
        assert not options or kind == "service" or f"{kind} {name}" in HEADINGS
        for option in options:
            assert f"| `{prefix}{option}` |" in PAGE


def test_no_heading_stands_twice_and_every_link_leads_to_one() -> None:
    anchors = [anchor(heading) for heading in HEADINGS]
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= set(anchors)


def test_sections_are_found_under_the_key_that_people_write() -> None:
    for key in (
        "engine",
        "benchmark",
        "frontend",
        "services[]",
        "roles.prefill`, `roles.decode`, `roles.agg",
    ):
        assert f"`{key}`" in HEADINGS


def test_short_forms_are_told() -> None:
    for row in (
        "| `roles.<role>.restart` | `never` or `on-failure` or `always` or [mapping](#rolesrolerestart) |",
        "| `roles.<role>.kv_events` | true or false or [mapping](#rolesrolekv_events) |",
        "| `services[].readiness.tcp` | whole number or [mapping](#servicesreadinesstcp) |",
        "| `benchmark` | name or [mapping](#benchmark) |",
    ):
        assert row in PAGE


def test_required_options_are_marked() -> None:
    assert "| `benchmark.isl` | whole number | **required** | Input sequence length, tokens. |" in PAGE
    assert any(
        line[0] == "| [`sa-bench`](#benchmark-sa-bench)" and line[-1] == "`isl`, `osl`, `concurrencies` |"
        for line in GRIDS
    )


def test_the_grid_says_which_engine_goes_with_which_frontend() -> None:
    assert fits(ENGINES["sglang"], FRONTENDS["dynamo"]) == "disagg, agg"
    assert fits(ENGINES["sglang"], FRONTENDS["vllm-router"]) == "–"
    assert fits(ENGINES["trtllm"], FRONTENDS["trtllm_serve"]) == "disagg, one agg worker"
    assert fits(ENGINES["tilert"], FRONTENDS["tilert-router"]) == "decode, with vllm prefill"
    assert fits(ENGINES["mocker"], FRONTENDS["direct"]) == "–"
    assert ["| engine", *(f"`{name}`" for name in FRONTENDS)] in [
        [cell.removesuffix(" |") for cell in line] for line in GRIDS
    ]


@pytest.mark.parametrize("engine", ["sglang", "vllm", "trtllm", "simulator", "mocker"])
@pytest.mark.parametrize("frontend", ["dynamo", "sglang-router", "vllm-router", "trtllm_serve", "direct"])
def test_the_grid_says_what_planning_says(
    engine: str, frontend: str, plans: Callable[..., list[Plan]], complaint: Callable[..., str]
) -> None:
    told = fits(ENGINES[engine], FRONTENDS[frontend])
    roles = {
        "disagg": "{prefill: {nodes: 1}, decode: {nodes: 1}}",
        "agg": "{agg: {nodes: 1, workers: 2}}",
        "one agg worker": "{agg: {nodes: 1}}",
    }
    for word, text in roles.items():
        recipe = f"engine: {engine}\nfrontend: {{type: {frontend}}}\nroles: {text}\n"
        if word in told.split(", ") or (word == "one agg worker" and "agg" in told.split(", ")):
            assert plans(recipe)
        else:
            assert "frontend" in complaint(recipe)


def test_every_section_has_an_example_or_stands_in_that_of_the_one_above() -> None:
    for one in sections(Recipe, set()):
        if one.key == "engine" or one.key == "benchmark":
            assert any(key.startswith(f"{one.key} ") for key in EXAMPLES)
        else:
            above = one.key.rpartition(".")[0] or "-"
            assert one.key in EXAMPLES or above in EXAMPLES, one.key
    assert {*EXAMPLES, *NOTES} <= {
        *(one.key for one in sections(Recipe, set())),
        *(f"engine {name}" for name in ENGINES),
        *(f"benchmark {name}" for name in BENCHMARKS),
    }


@pytest.mark.parametrize("key", EXAMPLES)
def test_every_example_can_be_planned(key: str, plans: Callable[..., list[Plan]]) -> None:
    given = yaml.safe_load(EXAMPLES[key])
    frontend = {"engine mocker": "dynamo", "engine vllm": "vllm-router", "engine trtllm": "trtllm_serve"}
    recipe: dict[str, Any] = {
        **yaml.safe_load(HEAD),
        "engine": "sglang",
        "frontend": {"type": frontend.get(key, "sglang-router")},
        "roles": {"agg": {"nodes": 1, "gpus": 8}},
    }
    assert plans(yaml.safe_dump({**recipe, **given}), head="")


@pytest.mark.parametrize("text", [text for _, text in WHOLE_FILES], ids=["roles", "replicas", "variants"])
def test_the_whole_files_can_be_planned_under_the_cluster_file(
    text: str, plans: Callable[..., list[Plan]]
) -> None:
    (plan,) = plans(text, head="", **yaml.safe_load(CLUSTER))
    worker = plan.steps[0]
    assert worker.mounts["/models/llama-3.1-70b-instruct"] == "/model"
    assert worker.image == "/images/sglang.sqsh"


def test_a_wrong_example_would_be_seen(plans: Callable[..., list[Plan]]) -> None:
    with pytest.raises(RecipeError, match="unknown key"):
        plans("engine: sglang\nroles: {agg: {nodes: 1, gpu: 8}}\n")


def test_it_is_in_step_with_the_code() -> None:
    written = (REPOSITORY / "docs/recipe-reference.md").read_text()
    assert written == PAGE, (
        "docs/recipe-reference.md is out of step: servesweep schema --page --output docs/recipe-reference.md"
    )
