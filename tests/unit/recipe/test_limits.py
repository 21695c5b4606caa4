"""Counts beyond any cluster are refused at their key, before anything is made of them."""

import pytest

from servesweep.recipe.problems import RecipeError
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_recipe
from servesweep.recipe.variants import expand

HEAD = "schema: 2\nname: demo\nmodel: {path: tiny, precision: fp8}\nengine: sglang\n"
AGG = "roles: {agg: {nodes: 1}}\n"
HUGE = "1000000000000000000000000000000"


def read(body: str) -> Recipe:
    (variant,) = expand(parse(HEAD + body, "r.yaml"))
    return read_recipe(variant)


def complaint(body: str) -> str:
    with pytest.raises(RecipeError) as caught:
        read(body)
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("roles: {agg: {nodes: 100000000}}\n",
         "5: roles.agg.nodes: a job has at most 10000 nodes, got 100000000"),
        ("roles: {agg: {nodes: 1, workers: 10001}}\n",
         "5: roles.agg.workers: expected a number up to 10000, got 10001"),
        (f"roles: {{agg: {{nodes: 1, gpus: {HUGE}}}}}\n",
         f"5: roles.agg.gpus: expected a number up to 100000, got {HUGE}"),
        ("replicas: 20000\n", "5: replicas: expected a number up to 10000, got 20000"),
        ("replicas: 1\nnodes_per_replica: 20000\n",
         "6: nodes_per_replica: expected a number up to 10000, got 20000"),
        (AGG + f"resources: {{gpus_per_node: {HUGE}}}\n",
         f"6: resources.gpus_per_node: expected a number up to 1024, got {HUGE}"),
        (AGG + "services: [{name: a, command: [x], nodes: 100000}]\n",
         "6: services[0].nodes: expected a number up to 10000, got 100000"),
        (AGG + "services: [{name: a, command: [x], readiness: {port: 1, timeout_seconds: .inf}}]\n",
         "6: services[0].readiness.timeout_seconds: expected a number up to 604800, got .inf"),
        (AGG + "health_check: {max_attempts: 100000000}\n",
         "6: health_check.max_attempts: expected a number up to 100000, got 100000000"),
        (AGG + "health_check: {interval_seconds: .nan}\n",
         "6: health_check.interval_seconds: expected a number up to 86400, got .nan"),
        (AGG + "frontend: {num_additional_frontends: 100000}\n",
         "6: frontend.num_additional_frontends: expected a number up to 10000, got 100000"),
        ("roles: {agg: {nodes: 1, restart: {policy: always, max_restarts: 100000}}}\n",
         "5: roles.agg.restart.max_restarts: expected a number up to 10000, got 100000"),
    ],
)  # fmt: skip
def test_a_count_beyond_its_limit(body: str, sentence: str) -> None:
    assert complaint(body) == f"r.yaml:{sentence}"


def test_the_limits_themselves_are_fine() -> None:
    recipe = read(
        "roles: {agg: {nodes: 10000, workers: 10000, gpus: 8}}\n"
        "resources: {gpus_per_node: 1024}\n"
        "health_check: {max_attempts: 100000, interval_seconds: 86400}\n"
    )
    assert recipe.roles is not None
    assert recipe.roles.agg is not None
    assert (recipe.roles.agg.nodes, recipe.resources.gpus_per_node) == (10000, 1024)
