"""The name that clients ask for, where arguments give it; and the model itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from servesweep.engines import ENGINES
from servesweep.plan.plan import Plan, Step

Workers = Callable[..., dict[str, Step]]

ONE = "the server has one name, and this is a list: write one"
NAMED = "expected the name that clients ask for, got {}"


@pytest.mark.parametrize(
    ("engine", "value", "sentence"),
    [
        ("sglang", ["a", "b"], ONE),
        ("mocker", ["a"], ONE),
        ("sglang", True, NAMED.format("true")),
        ("vllm", False, NAMED.format("false")),
        ("vllm", "", NAMED.format("''")),
        ("vllm", " ", NAMED.format("' '")),
        ("vllm", {"a": 1}, NAMED.format("a mapping")),
        ("vllm", ["a", ""], NAMED.format("''")),
        ("simulator", True, NAMED.format("true")),
    ],
)
def test_what_is_no_name(engine: str, value: Any, sentence: str) -> None:
    found = ENGINES[engine].refusals("agg", {"served_model_name": value}, ENGINES[engine].Options())
    assert found == [("args.served_model_name", sentence)]


@pytest.mark.parametrize(
    ("engine", "value", "name"),
    [("sglang", "a", "a"), ("sglang", 7, "7"), ("sglang", None, None), ("vllm", ["a", "b"], "a")],
)
def test_a_name(engine: str, value: Any, name: str | None) -> None:
    args = {"served-model-name": value}
    assert ENGINES[engine].refusals("agg", args, ENGINES[engine].Options()) == []
    assert ENGINES[engine].served_model(args) == name


@pytest.mark.parametrize(
    "frontend",
    ["", "frontend: {type: vllm}\n", "dynamo: {sidecar: true}\n"],
    ids=["dynamo", "own", "sidecar"],
)
def test_vllm_answers_to_several(workers: Workers, plan: Callable[..., Plan], frontend: str) -> None:
    text = f"engine: vllm\nroles: {{agg: {{nodes: 1, args: {{served-model-name: [a, b, a]}}}}}}\n{frontend}"
    assert "--served-model-name a b --" in " ".join(workers(text)["agg_0"].command.argv)
    assert plan(text).served_model == "a"


@pytest.mark.parametrize(
    ("engine", "key"),
    [("sglang", "model-path"), ("sglang", "model"), ("vllm", "model"), ("tokenspeed", "model_path")],
)
def test_the_model_is_the_recipes(plan: Callable[..., Plan], engine: str, key: str) -> None:
    found = plan(f"engine: {engine}\nroles: {{agg: {{nodes: 1, args: {{{key}: /other}}}}}}\n")
    note = f"roles.agg.args.{key} is not used: the model is the recipe's model.path"
    assert note in found.notes
    (worker,) = (step for step in found.steps if step.kind == "worker")
    assert "/other" not in worker.command.argv


def test_trtllm_serve_is_told_a_name_that_is_not_the_directorys(workers: Workers) -> None:
    named = "engine: {type: trtllm, served_model_name: mine}\n"
    text = "roles: {agg: {nodes: 1}}\nfrontend: {type: trtllm_serve}\n"
    assert "--served_model_name mine" in " ".join(workers(named + text)["agg_0"].command.argv)
    assert "--served_model_name" not in workers("engine: trtllm\n" + text)["agg_0"].command.argv
