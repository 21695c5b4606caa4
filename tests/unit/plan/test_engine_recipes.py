"""The example recipes of real engines: each can be planned as it stands, and says what its comments say."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from servesweep.engines.flags import given
from servesweep.plan.plan import Plan
from servesweep.plan.preflight import preflight
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.cluster import Cluster

REPOSITORY = Path(__file__).resolve().parents[3]
DIRECTORY = REPOSITORY / "config/recipes/engines"
SITE = Cluster.model_validate(
    {
        "cluster": "lab",
        "container_runtime": "pyxis",
        "default_account": "lab",
        "default_partition": "batch",
        "preflight": False,
        "model_paths": {"llama-70b": "/models/llama-70b", "deepseek-r1": "/models/deepseek-r1"},
        "containers": {name: f"/images/{name}.sqsh" for name in ("sglang", "vllm", "trtllm", "ray")},
    }
)
# Of each recipe: the frontend, then every node with the worker processes on it and their GPUs.
MAPS = {
    "sglang-dynamo-disagg": ("dynamo", ["prefill_0[0-3] prefill_1[4-7]", "decode_0[0-7]"]),
    "sglang-dynamo-colocate": ("dynamo", ["prefill_0[0-3] decode_0[4-7]"]),
    "sglang-router-agg": ("sglang-router", ["agg_0[0-3] agg_1[4-7]"]),
    "sglang-router-disagg": (
        "sglang-router", ["prefill_0[0-7]", "prefill_1[0-7]", "decode_0[0-7]", "decode_0_r1[0-7]"]
    ),
    "vllm-router-disagg": ("vllm-router", ["prefill_0[0-3] prefill_1[4-7]", "decode_0[0-7]"]),
    "vllm-dynamo-dp": ("dynamo", ["prefill_0[0-7]", "decode_0[0-7]", "decode_0_r8[0-7]"]),
    "trtllm-dynamo-disagg": ("dynamo", ["prefill_0[0-3] prefill_1[4-7]", "decode_0[0-7]"]),
    "trtllm-serve-disagg": ("trtllm_serve", ["prefill_0[0-3] prefill_1[4-7]", "decode_0[0-7]"]),
    "vllm-replicas": ("sglang-router", ["agg_0[0-7]", "agg_0_r1[0-7]", "agg_1[0-7]", "agg_1_r1[0-7]"]),
    "ray-job": ("none", ["", ""]),
}  # fmt: skip
PARALLEL = ("tensor-parallel-size", "tensor_parallel_size", "pipeline-parallel-size", "data-parallel-size")


@pytest.fixture(scope="module")
def plans() -> dict[str, Plan]:
    """Every recipe of the directory, planned."""
    found = {}
    for file in sorted(DIRECTORY.glob("*.yaml")):
        ((_, found[file.stem]),) = read_recipe_file(
            RecipeFile(str(file)), SITE, REPOSITORY / "config/recipes"
        )
    return found


def workers_on(plan: Plan, node: str) -> str:
    """The worker processes of a node, with their GPUs."""
    steps = [step for step in plan.steps if step.kind == "worker" and step.node == node]
    return " ".join(f"{step.name}[{step.gpus[0]}-{step.gpus[-1]}]" for step in steps)


def test_there_are_no_others(plans: dict[str, Plan]) -> None:
    assert sorted(plans) == sorted(MAPS)


@pytest.mark.parametrize("name", MAPS)
def test_it_stands_where_its_comments_say(name: str, plans: dict[str, Plan]) -> None:
    plan = plans[name]
    assert (plan.frontend, [workers_on(plan, node.name) for node in plan.nodes]) == MAPS[name]
    assert plan.unsupported == ()
    assert preflight(plan) == []


def parallelism(plan: Plan) -> Iterator[tuple[str, int, int]]:
    """Of each worker: its name, its GPUs, and the product of the sizes that its engine is told."""
    recipe = plan.resolved
    for mode, role in recipe.roles.items() if recipe.roles else ():
        product = 1
        for key in PARALLEL:
            product *= role.args.get(key, 1)
        yield mode, role.gpus or 0, product
    if recipe.replicas:
        said = given(shlex.split(recipe.framework_args or ""))
        product = 1
        for key in PARALLEL:
            product *= int(said.get(key, "1"))
        yield "replica", (recipe.nodes_per_replica or 1) * plan.topology.gpus_per_node, product


@pytest.mark.parametrize("name", sorted(set(MAPS) - {"ray-job"}))
def test_the_sizes_of_parallelism_make_up_the_gpus(name: str, plans: dict[str, Plan]) -> None:
    found = [*parallelism(plans[name])]
    assert found
    assert all(gpus == product for _, gpus, product in found), found


def test_kv_events_reach_the_router(plans: dict[str, Plan]) -> None:
    steps = {step.name: " ".join(step.command.argv) for step in plans["sglang-dynamo-disagg"].steps}
    assert "tcp://*:5550" in steps["prefill_0"]
    assert "tcp://*:5551" in steps["prefill_1"]
    assert "--kv-events-config" not in steps["decode_0"]
    assert "--router-mode kv" in steps["frontend_0"]


def test_the_ranks_of_data_parallelism_follow_from_the_nodes(plans: dict[str, Plan]) -> None:
    steps = {step.name: " ".join(step.command.argv) for step in plans["vllm-dynamo-dp"].steps}
    assert "--data-parallel-size 16" in steps["decode_0"]
    assert "--data-parallel-start-rank 8" in steps["decode_0_r8"]


def test_the_ray_job_submits_once_to_the_head(plans: dict[str, Plan]) -> None:
    plan = plans["ray-job"]
    assert [(step.name, step.node) for step in plan.steps] == [
        ("train_n0", "n0"), ("train_n1", "n1"), ("submit", "n0"),
    ]  # fmt: skip
    assert "http://ip-n0:8265" in " ".join(plan.steps[-1].command.argv)
    assert plan.steps[-1].terminal


@pytest.mark.parametrize("name", MAPS)
def test_it_names_the_schema_for_editors_and_what_to_change(name: str) -> None:
    text = (DIRECTORY / f"{name}.yaml").read_text()
    header, _, rest = text.partition("\n")
    path = header.removeprefix("# yaml-language-server: $schema=")
    assert (DIRECTORY / path).resolve() == REPOSITORY / "config/recipe.schema.json"
    assert "# Change: " in rest
    assert yaml.safe_load(text)["schema"] == 2


def test_the_demo_does_not_pick_them_up() -> None:
    config = yaml.safe_load((REPOSITORY / "config/config.yaml").read_text())
    assert config["recipes"] == "config/recipes/demo.yaml"


def test_the_schemas_of_editors_are_no_part_of_the_repository() -> None:
    assert "/config/*.schema.json" in (REPOSITORY / ".gitignore").read_text().splitlines()
