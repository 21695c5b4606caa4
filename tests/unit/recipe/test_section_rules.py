"""Faults of single sections are told although another section keeps the recipe from being read."""

from __future__ import annotations

import pytest

from servesweep.plan.section_rules import section_problems
from servesweep.recipe.source import parse
from servesweep.recipe.variants import expand

HEAD = "schema: 2\nname: demo\nmodel: {path: tiny}\n"


def told(body: str) -> list[str]:
    (variant,) = expand(parse(HEAD + body, "r.yaml"))
    return [f"{problem.line}: {problem.key}: {problem.message}" for problem in section_problems(variant)]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("engine: sglng\n", "4: engine: unknown engine 'sglng'; did you mean sglang?"),
        ("engine: {type: mocker, speedup: 2}\n",
         "4: engine.speedup: unknown key; did you mean speedup_ratio?"),
        ("engine: sglang\nroles: {agg: {wokers: 1, args: {tp-size: 1, tp_size: 2}}}\n",
         "5: roles.agg.args.tp_size: this argument is given twice: tp-size is the same one, so keep one"),
        ("roles: {agg: {engine: sglang, kv_events: {topics: a}, args: {tp-size: 1, tp_size: 2}}}\n",
         "4: roles.agg.args.tp_size: this argument is given twice: tp-size is the same one, so keep one"),
        ("frontend: {type: dynam, placement: head}\n",
         "4: frontend.type: unknown frontend 'dynam'; did you mean dynamo?"),
        ("benchmark: {type: sa-bench, isl: 1, osl: 1, concurrencies: 1, req_rate: 1x2}\n",
         "4: benchmark.req_rate: expected inf or requests per second above 0, one number or a list like"
         " [1, 2.5, inf], got '1x2'"),
        ("benchmark: {type: sa-benc}\n",
         "4: benchmark.type: unknown benchmark 'sa-benc'; did you mean sa-bench?"),
        ("benchmark: {isl: 1}\n",
         "4: benchmark.type: the type is missing, and without one nothing is measured: write type: sa-bench"),
        ("sbatch_directives: {nodes: 4}\n",
         "4: sbatch_directives.nodes: the nodes follow from the roles: change roles.<role>.nodes"),
        ("srun_options: {ntasks: 4}\n",
         "4: srun_options.ntasks: how many processes a step starts follows from its engine"),
    ],
)  # fmt: skip
def test_a_section_tells_its_own_faults(body: str, sentence: str) -> None:
    assert told(body) == [sentence]


@pytest.mark.parametrize(
    "body",
    [
        "engine: 7\nroles: {agg: {args: {tp-size: 1, tp_size: 2}}}\n",
        "engine: sglang\nroles: [agg]\nbenchmark: [a]\nsbatch_directives: x\nfrontend: 3\n",
        "engine: {type: [a]}\nsbatch_directives: {mem: true}\nroles: {agg: {args: 3}}\n",
    ],
)
def test_what_is_at_fault_itself_gives_nothing_further(body: str) -> None:
    assert told(body) == []


def test_an_engine_refuses_nothing_of_roles_that_are_not_there() -> None:
    assert told("engine: tilert\nroles: {decode: {nodes: 1}}\n") == []


def test_a_variant_that_cannot_be_built_has_no_sections() -> None:
    stray, _ = expand(parse("base: {name: a}\noveride_x: {}\n", "r.yaml"))
    assert section_problems(stray) == []
