"""A key in the wrong section: where it belongs, and which keys are listed where nobody can tell."""

from __future__ import annotations

import pytest

from servesweep.benchmarks import BENCHMARKS
from servesweep.plan.slurm_options import KNOWN
from servesweep.recipe.belonging import OF_SBATCH, OF_THE_LOAD
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_recipe
from servesweep.recipe.variants import expand


def told(body: str) -> str:
    """What is said about the one fault of a recipe that is otherwise right."""
    keys = {
        "schema": "2",
        "name": "demo",
        "model": "{path: tiny, precision: fp8}",
        "engine": "simulator",
        "roles": "{agg: {nodes: 1}}",
    }
    key, _, value = body.partition(": ")
    text = "".join(f"{name}: {written}\n" for name, written in {**keys, key: value}.items())
    with pytest.raises(RecipeError) as caught:
        read_recipe(expand(parse(text, "r.yaml"))[0])
    (problem,) = caught.value.problems
    return f"{problem.key}: {problem.message}"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("slurm: {qos: high}",
         "slurm.qos: unknown key here: options of sbatch belong under sbatch_directives:"
         " write sbatch_directives.qos"),
        ("slurm: {cpus_per_task: 4}",
         "slurm.cpus_per_task: unknown key here: options of sbatch belong under sbatch_directives:"
         " write sbatch_directives.cpus-per-task"),
        ("slurm: {time: 10}", "slurm.time: unknown key; did you mean time_limit?"),
        ("slurm: {nodes: 4}", "slurm.nodes: unknown key here: it belongs in roles.<role>.nodes"),
        ("qos: high", "qos: unknown key here: it belongs in sbatch_directives.qos"),
        ("roles: {agg: {nodes: 1, tensor-parallel-size: 8}}",
         "roles.agg.tensor-parallel-size: unknown key here: flags of the engine belong under args:"
         " write args.tensor-parallel-size"),
        ("roles: {agg: {nodes: 1, tp: 8}}",
         "roles.agg.tp: unknown key here: flags of the engine belong under args: write args.tp"),
        ("roles: {agg: {nodes: 1, gups: 8}}",
         "roles.agg.gups: unknown key here: did you mean gpus? Otherwise flags of the engine belong under"
         " args: write args.gups"),
        ("roles: {agg: {nodes: 1, wokers: 8}}", "roles.agg.wokers: unknown key; did you mean workers?"),
        ("roles: {agg: {nodes: 1, environment: {A: 1}}}",
         "roles.agg.environment: unknown key; did you mean env?"),
        ("resources: {nodes: 2}", "resources.nodes: unknown key here: it belongs in roles.<role>.nodes"),
        ("isl: 1024", "isl: unknown key here: it belongs in benchmark.isl"),
        ("container: x",
         "container: unknown key here: it belongs in model.container or in roles.<role>.container"),
        ("model: {path: a, precision: b, container_mounts: {}}",
         "model.container_mounts: unknown key here: it belongs at the top of the recipe,"
         " as container_mounts"),
        ("time_limit: 10", "time_limit: unknown key here: it belongs in slurm.time_limit"),
        ("bechmark: {}", "bechmark: unknown key; did you mean benchmark?"),
        ("slurm: {queue: a}", "slurm.queue: unknown key; known here: account, partition, time_limit"),
    ],
)  # fmt: skip
def test_a_key_is_sent_where_it_belongs(body: str, sentence: str) -> None:
    assert told(body) == sentence


def test_of_many_known_keys_the_nearest_few_are_listed() -> None:
    sentence = told("wprk: 1")
    assert sentence.startswith("wprk: unknown key; of the ")
    assert sentence.count(",") == 4


def test_every_key_that_is_sent_elsewhere_is_known_there() -> None:
    assert set(OF_THE_LOAD) <= BENCHMARKS["sa-bench"].Options.model_fields.keys()
    assert set(OF_SBATCH) <= set(KNOWN)
