"""Several faults at once, lines of variants, and rules between keys of a recipe."""

import pytest

from servesweep.recipe.problems import Problem, RecipeError, listed, shown
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_recipe
from servesweep.recipe.variants import expand

HEAD = "schema: 2\nname: demo\nmodel: {path: tiny, precision: fp8}\n"


def read(recipe: str, variant: int = 0) -> Recipe:
    return read_recipe(expand(parse(recipe, "r.yaml"))[variant])


def complaint(recipe: str, variant: int = 0) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        read(recipe, variant)
    return str(caught.value).splitlines()


def test_every_fault_of_a_recipe_is_told_in_the_order_of_its_lines() -> None:
    recipe = (
        "schema: 2\n"
        "name: 7\n"
        "model: {path: tiny}\n"
        "engine: simulator\n"
        "roles:\n"
        "  agg:\n"
        "    nodes: none\n"
        "    worker: 2\n"
        "slurm:\n"
        "  time_limit: soon\n"
    )
    assert [line.partition(": ")[0] for line in complaint(recipe)] == [
        "r.yaml:2", "r.yaml:3", "r.yaml:7", "r.yaml:8", "r.yaml:10",
    ]  # fmt: skip


def test_a_key_without_a_value_is_told_once_and_its_consequences_are_not() -> None:
    assert complaint(f"{HEAD}engine:\nroles:\n  agg:\n") == [
        "r.yaml:4: engine: the key has no value: write one, or remove the key",
        "r.yaml:6: roles.agg: the key has no value: write one, or remove the key",
    ]


def test_null_stands_where_it_says_something() -> None:
    recipe = read(f"{HEAD}engine: simulator\nroles: {{agg: {{nodes: 1, args: {{seed: null}}}}}}\n")
    assert recipe.roles is not None
    assert recipe.roles.agg is not None
    assert recipe.roles.agg.args == {"seed": None}


def test_a_fault_of_an_override_is_told_at_the_override() -> None:
    recipe = (
        "base:\n"
        "  schema: 2\n"
        "  name: demo\n"
        "  model: {path: tiny, precision: fp8}\n"
        "  engine: simulator\n"
        "  roles: {agg: {nodes: 1}}\n"
        "override_big:\n"
        "  roles: {agg: {nodes: 4, workers: many}}\n"
    )
    assert complaint(recipe) == [
        "r.yaml:8: roles.agg.workers: expected a whole number, got 'many'",
    ]


@pytest.mark.parametrize(
    ("body", "line", "sentence"),
    [
        ("engine: simulator\n", 1,
         "roles: the workers are missing: say roles (prefill and decode, or agg) or replicas"),
        ("engine: simulator\nroles:\n  prefill: {nodes: 1}\n", 5,
         "roles: prefill alone serves nothing: the role decode is missing"),
        ("engine: simulator\nroles:\n  decode: {nodes: 1}\n", 5,
         "roles: decode alone serves nothing: the role prefill is missing"),
        ("engine: simulator\nroles:\n  agg: {nodes: 1}\n  decode: {nodes: 1}\n", 5,
         "roles: decode and agg are mixed: a recipe has prefill and decode, or agg alone"),
        ("engine: simulator\nroles:\n  agg: {nodes: 1}\n  decode: {nodes: 1}\n  prefill: {nodes: 1}\n", 5,
         "roles: prefill, decode and agg are mixed: a recipe has prefill and decode, or agg alone"),
        ("engine: simulator\nroles:\n  agg: {nodes: colocate, gpus: 4}\n", 6,
         "roles.agg.nodes: only decode can colocate"),
        ("engine: simulator\nroles:\n  prefill: {nodes: 1, gpus: 4}\n  decode: {nodes: colocate}\n", 7,
         "roles.decode.nodes: colocate needs the GPUs of a worker: say roles.decode.gpus"),
        ("engine: simulator\nroles:\n  prefill: {nodes: 1}\n  decode: {nodes: colocate}\n", 7,
         "roles.decode.nodes: colocate needs the GPUs of a worker:"
         " say roles.prefill.gpus and roles.decode.gpus"),
        ("roles:\n  agg: {nodes: 1}\n", 1,
         "engine: the engine is missing: name it at the top, or on every role"),
        ("replicas: 2\n", 1, "engine: the engine is missing: name it at the top"),
        ("engine: sglang\nroles:\n  agg:\n    nodes: 1\n    engine: vllm\n", 8,
         "roles.agg.engine: the engine is given at the top too: keep that one, or one on every role"),
        ("roles:\n  prefill: {nodes: 1, engine: vllm}\n  decode: {nodes: 1}\n", 6,
         "roles.decode.engine: the engine is missing: with engines per role, every role names its own"),
        ("engine: sglang\nroles:\n  agg: {nodes: 1}\nreplicas: 2\n", 7,
         "replicas: roles and replicas are two spellings of the workers: keep one"),
        ("engine: sglang\nreplicas: 2\nfrontend: {type: direct}\n", 6,
         "frontend: frontend belongs to the roles form: with replicas, say router"),
        ("engine: sglang\nroles:\n  agg: {nodes: 1}\nrouter: sglang\n", 7,
         "router: router belongs to the replicas form: add replicas, or remove it"),
        ("engine: sglang\nroles:\n  agg: {nodes: 1}\nnodes_per_replica: 2\n", 7,
         "nodes_per_replica: nodes_per_replica belongs to the replicas form: add replicas, or remove it"),
        ("engine: sglang\nroles:\n  agg: {nodes: 1}\nframework_args: --tp 8\n", 7,
         "framework_args: framework_args belongs to the replicas form: add replicas, or remove it"),
    ],
)  # fmt: skip
def test_keys_that_do_not_go_together(body: str, line: int, sentence: str) -> None:
    assert complaint(HEAD + body) == [f"r.yaml:{line}: {sentence}"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "nothing (null)"),
        (True, "true"),
        ({"a": 1}, "a mapping"),
        ([1], "a list"),
        ("text", "'text'"),
        (1.5, "1.5"),
        ("x" * 80, "'" + "x" * 56 + "..."),
    ],
)
def test_what_a_person_wrote_is_quoted_short(value: object, expected: str) -> None:
    assert shown(value) == expected


def test_words_are_joined_as_in_a_sentence() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"], "or") == "a, b or c"


def test_rules_between_sections_are_told_beside_faults_of_others() -> None:
    body = "engine: sglang\nroles:\n  agg: {nodes: 1, engine: vllm}\nslurm: {time_limit: soon}\n"
    assert [line.partition(": ")[0] for line in complaint(HEAD.replace("demo", "7") + body)] == [
        "r.yaml:2", "r.yaml:6", "r.yaml:7",
    ]  # fmt: skip


@pytest.mark.parametrize("faulty", ["engin: sglang\n", "engine: 7\n", "backend: {type: sglang}\n"])
def test_what_follows_from_a_fault_is_not_told(faulty: str) -> None:
    (line,) = complaint(f"{HEAD}{faulty}roles:\n  agg: {{nodes: 1}}\n")
    assert line.startswith(f"r.yaml:4: {faulty.partition(':')[0]}: ")


def test_the_faults_of_a_variant_and_of_its_block_are_told_together() -> None:
    recipe = (
        "base:\n"
        "  schema: 2\n"
        "  name: demo\n"
        "  model: {path: tiny, precision: fp8}\n"
        "  engine: simulator\n"
        "  roles: {agg: {nodes: 1, wokers: 2}}\n"
        "zip_override_z:\n"
        "  roles: {agg: {gpus: [1, 2], workers: [1, 2, 3]}}\n"
        "overide_y: {}\n"
    )
    assert [line.partition(": ")[0] for line in complaint(recipe, 1)] == ["r.yaml:6", "r.yaml:8"]
    assert complaint(recipe, 0) == ["r.yaml:9: overide_y: unknown block; did you mean override_y?"]


def test_a_sentence_that_is_told_twice_is_written_once() -> None:
    same = Problem("r.yaml", 3, "a", "odd")
    assert str(RecipeError([same, Problem("r.yaml", 3, "a", "odd"), same])) == "r.yaml:3: a: odd"
    assert RecipeError([same, same]).problems == (same,)


def test_a_problem_is_one_line_whatever_the_key_holds() -> None:
    problem = Problem("größe.yaml", 3, "a\nb\x85c", "unknown key")
    assert str(problem) == "größe.yaml:3: a\\nb\\x85c: unknown key"


def test_a_missing_key_is_not_told_beside_the_unknown_one_that_it_probably_is() -> None:
    assert complaint("schema: 2\nnmae: demo\nmodel: {path: tiny, precison: fp8}\nengine: simulator\n") == [
        "r.yaml:2: nmae: unknown key; did you mean name?",
        "r.yaml:3: model.precison: unknown key; did you mean precision?",
    ]


def test_a_missing_key_is_told_beside_an_unknown_one_that_is_another() -> None:
    faults = complaint("schema: 2\nname: demo\nmodel: {path: tiny, sauce: x}\nengine: simulator\n")
    assert [line.split(": ")[1] for line in faults] == ["roles", "model.precision", "model.sauce"]
