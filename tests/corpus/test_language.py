"""The recipe language is whole: every real recipe is read and planned, on each topology that people run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from servesweep.migration.migrate import migrate_text
from servesweep.plan.json_schema import recipe_schema
from servesweep.plan.plan import Plan, plan_text
from servesweep.plan.plan_object import plan_object
from servesweep.plan.plan_page import plan_page
from servesweep.plan.sweep import RecipeFile, read_recipe_file
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.source import parse

# Longer than the patience of the most patient recipe.
SITE = Cluster(container_runtime="pyxis", default_time_limit="08:00:00")  # type: ignore[arg-type]
# A type of benchmark that no version of the reference registers: their job would fail once it runs.
UNREGISTERED = "unknown benchmark 'gsm8k-bench'; did you mean gsm8k?"


def migrated(directory: Path, target: Path) -> list[Path]:
    """Every recipe below a directory as `schema: 2`, in a directory of its own."""
    files = []
    for file in sorted(directory.rglob("*.yaml")):
        new = target / file.relative_to(directory)
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(migrate_text(file.read_text(), str(file)).text)
        files.append(new)
    return files


def planned(files: list[Path], root: Path) -> Iterator[tuple[Path, list[Plan], str]]:
    """Each file, its plans, and what was said where there are none."""
    for file in files:
        try:
            found = read_recipe_file(RecipeFile(str(file)), SITE, root)
        except RecipeError as error:
            yield file, [], str(error)
        else:
            yield file, [plan for _, plan in found], ""


@pytest.fixture(scope="module")
def plans(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[Plan], str]]:
    """Plans and complaint of every migrated recipe, by its path below `recipes`."""
    target = tmp_path_factory.mktemp("migrated")
    files = migrated(corpus / "recipes", target)
    return {str(file.relative_to(target)): rest for file, *rest in planned(files, target)}  # type: ignore[misc]


def test_every_real_recipe_is_read_and_planned(plans: dict[str, tuple[list[Plan], str]]) -> None:
    refused = {file: told for file, (found, told) in plans.items() if told}
    print(
        f"{len(plans) - len(refused)} of {len(plans)} recipes, {sum(len(f) for f, _ in plans.values())} plans"
    )
    assert len(plans) == 392
    assert sum(len(found) for found, _ in plans.values()) == 490
    # Refused before anything is submitted, with the file, the line and the nearest name.
    assert [Path(file).name.endswith("gsm8k-bench.yaml") for file in refused] == [True, True]
    for told in refused.values():
        (line,) = told.splitlines()
        assert f"benchmark.type: {UNREGISTERED}" in line


def test_ids_are_unique_even_where_names_repeat(plans: dict[str, tuple[list[Plan], str]]) -> None:
    everything = [plan for found, _ in plans.values() for plan in found]
    names = Counter(plan.name for plan in everything)
    assert sum(count > 1 for count in names.values()) > 10
    assert len({plan.configuration for plan in everything}) == len(everything)
    # No two of them are one experiment under two names, and none is taken for another.
    assert len({plan.digest for plan in everything}) <= len(everything)


def test_every_worker_is_whole_and_no_gpu_has_two(plans: dict[str, tuple[list[Plan], str]]) -> None:
    for found, _ in plans.values():
        for plan in found:
            held = Counter(
                (process.node, gpu) for process in plan.deployment.processes for gpu in process.gpus
            )
            assert held.total() == len(held) == plan.topology.total_gpus
            assert plan.slurm.nodes == plan.topology.total_nodes == len(plan.nodes)
            bound = [(p.node, p.http_port) for p in plan.deployment.processes if p.http_port]
            assert len(bound) == len(set(bound))


def test_every_plan_can_be_read_by_a_person_and_a_program(plans: dict[str, tuple[list[Plan], str]]) -> None:
    for found, _ in plans.values():
        for plan in found:
            shown = json.loads(json.dumps(plan_object(plan)))
            assert shown["nodes"] == [node.name for node in plan.nodes]
            assert sum(len(worker["processes"]) for worker in shown["workers"]) == len(
                plan.deployment.processes
            )
            assert plan_page(plan).startswith(plan.configuration)
            assert Plan.model_validate_json(plan_text(plan)) == plan


def test_an_editor_accepts_what_is_accepted(corpus: Path, plans: dict[str, tuple[list[Plan], str]]) -> None:
    """The JSON Schema and the models say the same of every real recipe."""
    schema = Draft202012Validator(recipe_schema())
    for name, (_, told) in plans.items():
        text = migrate_text((corpus / "recipes" / name).read_text(), name).text
        assert schema.is_valid(parse(text, name).data) == (not told), name


def test_duplicates_are_told(plans: dict[str, tuple[list[Plan], str]]) -> None:
    told = {note for found, _ in plans.values() for plan in found for note in plan.notes if "given" in note}
    assert all("times and measured once" in note for note in told)


# As their comments say: nodes, workers of each role, GPUs of one, points; a dedicated discovery plane adds a
# node, and so do pools.
AS_THEY_SAY: dict[str, tuple[int, dict[str, tuple[int, int]], list[str]]] = {
    "example": (2, {"prefill": (1, 4), "decode": (1, 4)}, ["c256", "c512"]),
    "features.infra-services": (2, {"agg": (2, 1)}, ["c4", "c8"]),
    "features.node-hooks": (1, {"agg": (2, 1)}, ["c4", "c8"]),
    "features.observability-vllm": (1, {"agg": (1, 2)}, ["c4", "c8"]),
    "features.override_tp2": (1, {"agg": (1, 2)}, ["c4", "c8"]),
    "features.override_context_0": (1, {"agg": (2, 1)}, ["c4"]),
    "features.override_context_1": (1, {"agg": (2, 1)}, ["c4", "c8"]),
    "features.pools": (4, {"agg": (1, 8)}, ["custom"]),
    "features.sweep_concurrency4_max_running_requests16": (1, {"agg": (2, 1)}, ["c4"]),
    "features.sweep_concurrency4_max_running_requests64": (1, {"agg": (2, 1)}, ["c4"]),
    "features.sweep_concurrency8_max_running_requests16": (1, {"agg": (2, 1)}, ["c8"]),
    "features.sweep_concurrency8_max_running_requests64": (1, {"agg": (2, 1)}, ["c8"]),
    "features.worker-restart": (1, {"agg": (2, 1)}, ["manual"]),
    "mocker.aggregated": (1, {"agg": (1, 4)}, ["c4"]),
    "mocker.dynamo-agg": (1, {"agg": (1, 8)}, ["c4"]),
    "sglang.dynamo-agg": (1, {"agg": (2, 1)}, ["c4", "c8"]),
    "sglang.dynamo-disagg": (1, {"prefill": (1, 1), "decode": (1, 1)}, ["c4", "c8"]),
    "tilert.glm5-disagg": (2, {"prefill": (1, 8), "decode": (1, 8)}, ["manual"]),
    "trtllm.trtllm-serve-agg": (1, {"agg": (1, 1)}, ["c4", "c8"]),
    "vllm.dynamo-disagg": (1, {"prefill": (1, 1), "decode": (1, 1)}, ["c4", "c8"]),
    "vllm.vllm-router-agg": (1, {"agg": (2, 1)}, ["c4", "c8"]),
}

# They declare `schema: 2` over a body of v1: without that line they are v1 recipes.
V1_BODY = ("features/sweep.yaml", "sglang/dynamo-agg.yaml")
# They mix keys of both versions, so neither reading is theirs: each key of v1 is told, with its successor.
MIXED = (
    "features/profiling.yaml", "features/services.yaml", "sglang/sglang-router-disagg.yaml",
    "trtllm/dynamo-disagg.yaml",
)  # fmt: skip


@pytest.fixture(scope="module")
def examples(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Plans of the reference's examples of the second schema by id; of the mixed ones what is said."""
    target = tmp_path_factory.mktemp("v2")
    for file in sorted((corpus / "v2").rglob("*.yaml")):
        name = str(file.relative_to(corpus / "v2"))
        text = file.read_text()
        new = target / name
        new.parent.mkdir(exist_ok=True)
        new.write_text(migrate_text(text.replace("schema: 2\n", "") if name in V1_BODY else text, name).text)
    files = sorted(target.rglob("*.yaml"))
    read = list(planned(files, target))
    found: dict[str, Any] = {plan.configuration: plan for _, plans, _ in read for plan in plans}
    return found | {str(file.relative_to(target)): told for file, _, told in read if told}


@pytest.mark.parametrize("name", AS_THEY_SAY)
def test_examples_of_the_second_schema_plan_as_their_comments_say(
    examples: dict[str, Any], name: str
) -> None:
    nodes, roles, points = AS_THEY_SAY[name]
    plan = examples[name]
    assert len(plan.nodes) == plan.slurm.nodes == nodes
    shapes = {
        mode: (getattr(plan.topology, f"num_{mode}"), getattr(plan.topology, f"gpus_per_{mode}"))
        for mode in ("prefill", "decode", "agg")
        if getattr(plan.topology, f"num_{mode}")
    }
    assert shapes == roles
    assert [point.id for point in plan.points] == points


def test_no_example_is_forgotten(examples: dict[str, Any]) -> None:
    assert set(examples) == {*AS_THEY_SAY, *MIXED}


@pytest.mark.parametrize("name", MIXED)
def test_keys_of_both_versions_together_are_told(examples: dict[str, Any], name: str) -> None:
    (first, *_) = examples[name].splitlines()
    assert "backend: a key of v1: say engine and roles (`servesweep migrate` rewrites v1 recipes)" in first


def test_placement_of_the_examples(examples: dict[str, Any]) -> None:
    held = {
        name: {node.name: node.holds for node in examples[name].nodes}
        for name in ("features.infra-services", "features.pools")
    }
    assert held["features.infra-services"]["n0"] == ("etcd", "nats")
    assert held["features.infra-services"]["n1"][0] == "head"
    # Engine roles first, then every pool in the order of declaration.
    assert held["features.pools"] == {
        "n0": ("head", "agg_0", "client"),
        "n1": ("train", "watcher"),
        "n2": ("train", "watcher"),
        "n3": ("napper",),
    }
    assert examples["features.worker-restart"].resolved.roles.agg.restart.max_restarts == 2
    assert examples["tilert.glm5-disagg"].engine == "vllm+tilert"
