"""The recipe language is whole: every real recipe is read and planned, on each topology that people run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from servesweep.migration.migrate import migrate_text
from servesweep.plan.json_schema import recipe_schema
from servesweep.plan.plan import Plan, plan_in, plan_text
from servesweep.plan.plan_object import plan_object
from servesweep.plan.plan_page import plan_page
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
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
            assert plan_in(plan_text(plan)) == plan


def test_an_editor_accepts_what_is_accepted(corpus: Path, plans: dict[str, tuple[list[Plan], str]]) -> None:
    """The JSON Schema and the models say the same of every real recipe."""
    schema = Draft202012Validator(recipe_schema())
    for name, (_, told) in plans.items():
        text = migrate_text((corpus / "recipes" / name).read_text(), name).text
        assert schema.is_valid(parse(text, name).data) == (not told), name


def test_duplicates_are_told(plans: dict[str, tuple[list[Plan], str]]) -> None:
    told = {note for found, _ in plans.values() for plan in found for note in plan.notes if "given" in note}
    assert all("times and measured once" in note for note in told)
