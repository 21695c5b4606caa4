"""Every key of a recipe: how it is written, what it means, and what is said when it is wrong."""

import math
import types
from collections.abc import Iterator
from typing import Any, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from servesweep.recipe.problems import RecipeError
from servesweep.recipe.recipe import Recipe
from servesweep.recipe.roles import RoleSection
from servesweep.recipe.section import Choice
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_recipe
from servesweep.recipe.variants import expand

SMALLEST = {
    "schema": "2",
    "name": "demo",
    "model": "{path: tiny, precision: fp8}",
    "engine": "simulator",
    "roles": "{agg: {nodes: 1}}",
}


def text(key: str, value: str) -> str:
    """The smallest recipe, one key a line, with one key set; replicas come without roles."""
    keys = {**SMALLEST, key: value}
    if key in ("nodes_per_replica", "framework_args", "router"):
        keys["replicas"] = "2"
    if "replicas" in keys:
        del keys["roles"]
    return "".join(f"{name}: {written}\n" for name, written in keys.items())


def read(recipe: str) -> Recipe:
    (variant,) = expand(parse(recipe, "r.yaml"))
    return read_recipe(variant)


def complaint(recipe: str) -> str:
    with pytest.raises(RecipeError) as caught:
        read(recipe)
    return str(caught.value)


def at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value[step] if isinstance(value, dict) else getattr(value, step)
    return value


# (key at the top, what is written, path of the field, what it means)
RIGHT: list[tuple[str, str, str, Any]] = [
    ("schema", "2", "schema", 2),
    ("name", "demo", "name", "demo"),
    ("name", '"8"', "name", "8"),
    ("model", "{path: hf:org/model, precision: fp8}", "model.path", "hf:org/model"),
    ("model", "{path: tiny, precision: fp8}", "model.container", None),
    ("model", "{path: tiny, precision: fp8, container: sglang}", "model.container", "sglang"),
    ("model", '{path: tiny, precision: "8"}', "model.precision", "8"),
    ("model", "{path: tiny, precision: fp8, served_name: llama}", "model.served_name", "llama"),
    ("engine", "sglang", "engine.type", "sglang"),
    ("engine", "{type: sglang}", "engine.type", "sglang"),
    ("engine", "{type: mocker, speedup_ratio: 2}", "engine.options", {"speedup_ratio": 2}),
    ("roles", "{agg: {nodes: 2}}", "roles.agg.nodes", 2),
    ("roles", "{agg: {nodes: 1}}", "roles.agg.workers", 1),
    ("roles", "{agg: {nodes: 1, workers: 4}}", "roles.agg.workers", 4),
    ("roles", "{agg: {nodes: 1}}", "roles.agg.gpus", None),
    ("roles", "{agg: {nodes: 1, gpus: 4}}", "roles.agg.gpus", 4),
    ("roles", "{agg: {nodes: 1, env: {A_1: 8, B: x}}}", "roles.agg.env", {"A_1": "8", "B": "x"}),
    ("roles", "{agg: {nodes: 1, args: {tp-size: 8, flag: true}}}", "roles.agg.args",
     {"tp-size": 8, "flag": True}),
    ("roles", "{agg: {nodes: 1, critical: false}}", "roles.agg.critical", False),
    ("roles", "{agg: {nodes: 1}}", "roles.agg.critical", True),
    ("roles", "{agg: {nodes: 1, srun_options: {mpi: pmix}}}", "roles.agg.srun_options", {"mpi": "pmix"}),
    ("roles", "{prefill: {nodes: 1, gpus: 4}, decode: {nodes: colocate, gpus: 4}}", "roles.decode.nodes",
     "colocate"),
    ("roles", "{prefill: {nodes: 3}, decode: {nodes: 1}}", "roles.prefill.nodes", 3),
    ("replicas", "3", "replicas", 3),
    ("nodes_per_replica", "2", "nodes_per_replica", 2),
    ("framework_args", "--tp 8 --host 0.0.0.0", "framework_args", "--tp 8 --host 0.0.0.0"),
    ("router", "sglang", "router", "sglang"),
    ("router", "none", "router", "none"),
    ("resources", "{gpu_type: h100}", "resources.gpu_type", "h100"),
    ("resources", "{gpus_per_node: 4}", "resources.gpus_per_node", 4),
    ("resources", "{}", "resources.gpus_per_node", None),
    ("resources", "{spread_workers: true}", "resources.spread_workers", True),
    ("slurm", "{time_limit: 90}", "slurm.time_limit", 90),
    ("slurm", "{time_limit: 02:00:00}", "slurm.time_limit", 120),
    ("slurm", '{time_limit: "1-12"}', "slurm.time_limit", 36 * 60),
    ("slurm", "{account: lab}", "slurm.account", "lab"),
    ("slurm", "{partition: batch}", "slurm.partition", "batch"),
    ("frontend", "{}", "frontend.type", "dynamo"),
    ("frontend", "{type: none}", "frontend.type", "none"),
    ("frontend", "{args: {router-mode: kv}}", "frontend.args", {"router-mode": "kv"}),
    ("frontend", "{env: {A: 1}}", "frontend.env", {"A": "1"}),
    ("frontend", "{placement: {node: first_decode}}", "frontend.placement.node", "first_decode"),
    ("frontend", "{}", "frontend.placement.node", "head"),
    ("benchmark", "{}", "benchmark.type", "manual"),
    ("benchmark", "manual", "benchmark.type", "manual"),
    ("benchmark", "{type: sa-bench, isl: 8}", "benchmark.options", {"isl": 8}),
    ("benchmark", "{placement: {node: dedicated}}", "benchmark.placement.node", "dedicated"),
    ("health_check", "{max_attempts: 5}", "health_check.max_attempts", 5),
    ("health_check", "{interval_seconds: 0.5}", "health_check.interval_seconds", 0.5),
    ("health_check", "{interval_seconds: 2}", "health_check.interval_seconds", 2),
    ("health_check", "{max_attempts: 4, interval_seconds: 0.5}", "health_check.timeout_seconds", 2.0),
    ("health_check", "{fatal_log_markers: false}", "health_check.fatal_log_markers", False),
    ("health_check", "{extra_fatal_log_patterns: ['Xid \\d+']}", "health_check.extra_fatal_log_patterns", (
     "Xid \\d+",)),
    ("environment", "{HF_HUB_OFFLINE: 1, RATE: 0.5}", "environment", {"HF_HUB_OFFLINE": "1", "RATE": "0.5"}),
    ("srun_options", '{mpi: pmix, exclusive: "", cpus: 4}', "srun_options",
     {"mpi": "pmix", "exclusive": "", "cpus": "4"}),
]  # fmt: skip


@pytest.mark.parametrize(("key", "written", "path", "meant"), RIGHT)
def test_a_key_is_read(key: str, written: str, path: str, meant: Any) -> None:
    assert at(read(text(key, written)), path.replace("schema", "schema_")) == meant


def test_an_engine_of_a_role_is_read() -> None:
    roles = "{prefill: {nodes: 1, engine: sglang}, decode: {nodes: 1, engine: {type: vllm, connector: null}}}"
    recipe = read(text("roles", roles).replace("engine: simulator\n", ""))
    assert at(recipe, "roles.prefill.engine.type") == "sglang"
    assert at(recipe, "roles.decode.engine.options") == {"connector": None}


NO_TIME = 'write "90" or 90 (minutes), "90:00", "01:30:00", "1-12", "1-12:30" or "1-12:30:00"'
EMPTY = "the key has no value: write one, or remove the key"
AGG = "args, critical, engine, env, gpus, nodes, srun_options, workers"
NODES = "expected a number of nodes from 1, or `colocate` for decode, got"

# (key at the top, what is written, the key path that is named, the sentence)
WRONG: list[tuple[str, str, str, str]] = [
    ("schema", "1", "schema", "expected 2, got 1"),
    ("schema", '"2"', "schema", "expected 2, got '2': write it without quotes"),
    ("schema", "", "schema", EMPTY),
    ("name", "8", "name", 'expected text, got the number 8: write it in quotes, "8"'),
    ("name", '""', "name", "the text is empty"),
    ("name", "", "name", EMPTY),
    ("name", "[a]", "name", "expected text, got a list"),
    ("name", "true", "name", "expected text, got true"),
    ("model", "tiny", "model",
     "expected a mapping with the keys container, path, precision, served_name, got 'tiny'"),
    ("model", "", "model", EMPTY),
    ("model", "{precision: fp8}", "model.path", "required key is missing"),
    ("model", "{path: 8, precision: fp8}", "model.path",
     'expected text, got the number 8: write it in quotes, "8"'),
    ("model", "{path: , precision: fp8}", "model.path", EMPTY),
    ("model", "{path: tiny}", "model.precision", "required key is missing"),
    ("model", "{path: tiny, precision: 8}", "model.precision",
     'expected text, got the number 8: write it in quotes, "8"'),
    ("model", "{path: tiny, precision: fp8, container: [a]}", "model.container", "expected text, got a list"),
    ("model", "{path: tiny, precision: fp8, container: }", "model.container", EMPTY),
    ("model", "{path: tiny, precision: fp8, served_name: true}", "model.served_name",
     "expected text, got true"),
    ("model", "{path: tiny, precison: fp8, precision: fp8}", "model.precison",
     "unknown key; did you mean precision?"),
    ("engine", "[sglang]", "engine", "expected a name, or a mapping with `type`, got a list"),
    ("engine", "3", "engine", "expected a name, or a mapping with `type`, got 3"),
    ("engine", "", "engine", EMPTY),
    ("engine", "{speedup_ratio: 2}", "engine.type", "required key is missing"),
    ("engine", "{type: 3}", "engine.type", 'expected text, got the number 3: write it in quotes, "3"'),
    ("roles", "", "roles", EMPTY),
    ("roles", "{}", "roles", "at least one role is needed: prefill and decode, or agg"),
    ("roles", "[agg]", "roles", "expected a mapping with the keys agg, decode, prefill, got a list"),
    ("roles", "{agg: 1}", "roles.agg", f"expected a mapping with the keys {AGG}, got 1"),
    ("roles", "{agg: }", "roles.agg", EMPTY),
    ("roles", "{prefil: {nodes: 1}, decode: {nodes: 1}}", "roles.prefil",
     "unknown key; did you mean prefill?"),
    ("roles", "{prefill: 1, decode: {nodes: 1}}", "roles.prefill",
     f"expected a mapping with the keys {AGG}, got 1"),
    ("roles", "{decode: [1], prefill: {nodes: 1}}", "roles.decode",
     f"expected a mapping with the keys {AGG}, got a list"),
    ("roles", "{agg: {workers: 1}}", "roles.agg.nodes", "required key is missing"),
    ("roles", "{agg: {nodes: two}}", "roles.agg.nodes", f"{NODES} 'two'"),
    ("roles", "{agg: {nodes: 0}}", "roles.agg.nodes", f"{NODES} 0"),
    ("roles", "{agg: {nodes: -1}}", "roles.agg.nodes", f"{NODES} -1"),
    ("roles", "{agg: {nodes: 1.5}}", "roles.agg.nodes", f"{NODES} 1.5"),
    ("roles", "{agg: {nodes: true}}", "roles.agg.nodes", f"{NODES} true"),
    ("roles", "{agg: {nodes: [1]}}", "roles.agg.nodes", f"{NODES} a list"),
    ("roles", "{agg: {nodes: }}", "roles.agg.nodes", EMPTY),
    ("roles", "{agg: {nodes: 1, workers: 0}}", "roles.agg.workers", "expected a number from 1, got 0"),
    ("roles", '{agg: {nodes: 1, workers: "2"}}', "roles.agg.workers",
     "expected a whole number, got '2': write it without quotes"),
    ("roles", "{agg: {nodes: 1, workers: 1.5}}", "roles.agg.workers", "expected a whole number, got 1.5"),
    ("roles", "{agg: {nodes: 1, wokers: 2}}", "roles.agg.wokers", "unknown key; did you mean workers?"),
    ("roles", "{agg: {nodes: 1, gpus: 0}}", "roles.agg.gpus", "expected a number from 1, got 0"),
    ("roles", "{agg: {nodes: 1, gpus: all}}", "roles.agg.gpus", "expected a whole number, got 'all'"),
    ("roles", "{agg: {nodes: 1, env: [A=1]}}", "roles.agg.env", "expected a mapping, got a list"),
    ("roles", "{agg: {nodes: 1, env: {A: true}}}", "roles.agg.env.A",
     'programs read true and false in many spellings: write the text meant, as "1"'),
    ("roles", "{agg: {nodes: 1, args: [--tp]}}", "roles.agg.args", "expected a mapping, got a list"),
    ("roles", "{agg: {nodes: 1, critical: 0}}", "roles.agg.critical", "expected true or false, got 0"),
    ("roles", "{agg: {nodes: 1, srun_options: {mpi: true}}}", "roles.agg.srun_options.mpi",
     'write "" for a flag without a value'),
    ("roles", "{agg: {nodes: 1, engine: }}", "roles.agg.engine", EMPTY),
    ("roles", "{agg: {nodes: 1, engine: 7}}", "roles.agg.engine",
     "expected a name, or a mapping with `type`, got 7"),
    ("replicas", "0", "replicas", "expected a number from 1, got 0"),
    ("replicas", "two", "replicas", "expected a whole number, got 'two'"),
    ("nodes_per_replica", "0", "nodes_per_replica", "expected a number from 1, got 0"),
    ("framework_args", "[--tp, 8]", "framework_args", "expected text, got a list"),
    ("router", "sgl", "router", "expected none or sglang, got 'sgl'; did you mean sglang?"),
    ("resources", "{gpu_type: 100}", "resources.gpu_type",
     'expected text, got the number 100: write it in quotes, "100"'),
    ("resources", "{gpus_per_node: 8x}", "resources.gpus_per_node", "expected a whole number, got '8x'"),
    ("resources", "{gpus_per_node: 0}", "resources.gpus_per_node", "expected a number from 1, got 0"),
    ("resources", "{spread_workers: no}", "resources.spread_workers", "expected true or false, got 'no'"),
    ("resources", "", "resources", EMPTY),
    ("slurm", "{time_limit: soon}", "slurm.time_limit", f"'soon' is not a time limit; {NO_TIME}"),
    ("slurm", "{time_limit: 1:00:00:00}", "slurm.time_limit", f"'1:00:00:00' is not a time limit; {NO_TIME}"),
    ("slurm", "{time_limit: 0}", "slurm.time_limit",
     "'0' leaves no time: a time limit is at least one minute"),
    ("slurm", "{time_limit: }", "slurm.time_limit", EMPTY),
    ("slurm", "{time_limit: unlimited}", "slurm.time_limit",
     "unlimited is refused: the run must end by itself before the limit, so it needs a finite one"),
    ("slurm", "{account: 12}", "slurm.account", 'expected text, got the number 12: write it in quotes, "12"'),
    ("slurm", "{partition: [a, b]}", "slurm.partition", "expected text, got a list"),
    ("slurm", "{qos: high}", "slurm.qos", "unknown key; known here: account, partition, time_limit"),
    ("frontend", "dynamo", "frontend", "expected a mapping such as {type: dynamo}, got 'dynamo'"),
    ("frontend", "{type: 1}", "frontend.type", 'expected text, got the number 1: write it in quotes, "1"'),
    ("frontend", "{args: [a]}", "frontend.args", "expected a mapping, got a list"),
    ("frontend", "{env: {A-B: 1}}", "frontend.env.A-B",
     "'A-B' is no name of an environment variable: letters, digits and _, no digit first"),
    ("frontend", "{placement: {node: first_decod}}", "frontend.placement.node",
     "expected head, first_decode or dedicated, got 'first_decod'; did you mean first_decode?"),
    ("frontend", "{placement: head}", "frontend.placement",
     "expected a mapping with the keys node, got 'head'"),
    ("benchmark", "[sa-bench]", "benchmark", "expected a name, or a mapping with `type`, got a list"),
    ("benchmark", "{type: 3}", "benchmark.type", 'expected text, got the number 3: write it in quotes, "3"'),
    ("benchmark", "{placement: {node: first}}", "benchmark.placement.node",
     "expected head, last_decode or dedicated, got 'first'"),
    ("health_check", "{max_attempts: 0}", "health_check.max_attempts", "expected a number from 1, got 0"),
    ("health_check", "{interval_seconds: 0}", "health_check.interval_seconds",
     "expected a number above 0, got 0"),
    ("health_check", "{interval_seconds: 10s}", "health_check.interval_seconds",
     "expected a number, got '10s'"),
    ("health_check", "{fatal_log_markers: 1}", "health_check.fatal_log_markers",
     "expected true or false, got 1"),
    ("health_check", "{extra_fatal_log_patterns: oops}", "health_check.extra_fatal_log_patterns",
     "expected a list, got 'oops'"),
    ("health_check", "{extra_fatal_log_patterns: [(]}", "health_check.extra_fatal_log_patterns",
     "'(' is no regular expression: missing ), unterminated subpattern at position 0"),
    ("environment", "[A=1]", "environment", "expected a mapping, got a list"),
    ("environment", "{A: }", "environment.A", 'the variable has no value: write "" for empty text'),
    ("environment", "{A: [1]}", "environment.A", "expected text, got a list"),
    ("srun_options", "{mpi: [1]}", "srun_options.mpi", "expected text, got a list"),
    ("srun_options", "--mpi=pmix", "srun_options", "expected a mapping, got '--mpi=pmix'"),
    ("bechmark", "{}", "bechmark", "unknown key; did you mean benchmark?"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "written", "path", "sentence"), WRONG)
def test_a_fault_is_one_line_with_file_line_and_key(key: str, written: str, path: str, sentence: str) -> None:
    recipe = text(key, written)
    line = 1 + [row.partition(":")[0] for row in recipe.splitlines()].index(key)
    assert complaint(recipe) == f"r.yaml:{line}: {path}: {sentence}"


@pytest.mark.parametrize("key", ["schema", "name", "model"])
def test_a_required_key_is_asked_for(key: str) -> None:
    recipe = "".join(f"{name}: {value}\n" for name, value in SMALLEST.items() if name != key)
    hint = ": write schema: 2" if key == "schema" else ""
    assert complaint(recipe) == f"r.yaml:1: {key}: required key is missing{hint}"


def fields(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Path of every field that a recipe may have."""
    for name, field in model.model_fields.items():
        if issubclass(model, Choice) and name == "options":
            continue
        here = f"{path}{field.alias or name}"
        yield here
        inner = model_in(field.annotation)
        # The three roles are one model: agg stands for them.
        if inner and not (inner is RoleSection and not here.endswith("agg")):
            yield from fields(inner, f"{here}.")


def model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) in (Union, types.UnionType):
        return next((found for found in map(model_in, get_args(annotation)) if found), None)
    return None


@pytest.mark.parametrize("path", list(fields(Recipe)))
def test_the_tables_above_name_every_key(path: str) -> None:
    def named(paths: list[str]) -> bool:
        return any(known == path or known.startswith(f"{path}.") for known in paths)

    if not path.startswith("roles.agg.engine"):  # has a test of its own
        assert named([row[2] for row in RIGHT])
    # A type of an engine is checked in the engine's own place.
    assert named([row[2] for row in WRONG]) or path == "roles.agg.engine.type"


def test_infinity_and_text_of_a_number_keep_their_types() -> None:
    recipe = read(text("benchmark", '{type: sa-bench, req_rate: [.inf, 2], seed: "1"}'))
    assert recipe.benchmark.options == {"req_rate": [math.inf, 2], "seed": "1"}


def test_a_recipe_survives_json_unchanged() -> None:
    recipe = read(text("benchmark", "{type: sa-bench, req_rate: [.inf, 2], placement: {node: dedicated}}"))
    assert Recipe.model_validate_json(recipe.model_dump_json(by_alias=True)) == recipe
    assert Recipe.model_validate(recipe.model_dump(mode="json", by_alias=True)) == recipe


def test_a_section_cannot_be_changed() -> None:
    recipe = read(text("name", "demo"))
    with pytest.raises(ValueError, match="frozen"):
        recipe.model.path = "other"  # type: ignore[misc]
