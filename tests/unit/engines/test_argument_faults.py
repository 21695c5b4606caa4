"""Arguments that no command line could carry, or that would say something else there: told before a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from servesweep.engines import ENGINES
from servesweep.engines.argument_faults import argument_faults
from servesweep.engines.flags import flags
from servesweep.engines.vocabulary import NO_WORDS, Vocabulary
from servesweep.plan.plan import Plan
from servesweep.recipe.problems import RecipeError

TOPOLOGY = "servesweep sets this argument itself from the topology: remove it"
SIGNS = "the name of an argument has letters, digits, `.`, `_` and `-` alone"
TWICE = "this argument is given twice: {} is the same one, so keep one"
EMPTY = "the list is empty, and a flag without values means something else: remove it"
NO_WORD = "{} within a list is no word of a command line: write text or numbers"
JSON = "a mapping becomes JSON, which has neither .nan nor .inf: write a number"
NUL = "no command line can carry the character '\\x00': remove it"
NAN, INF = float("nan"), float("inf")


def faults(engine: str, args: dict[str, Any]) -> list[tuple[str, str]]:
    mode = "decode" if engine == "tilert" else "agg"
    return ENGINES[engine].refusals(mode, args, ENGINES[engine].Options.model_construct())


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "trtllm"])
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("--threads", "write it without dashes: threads"),
        ("-x", "write it without dashes: x"),
        ("threads=9", "a value stands behind a colon: write threads: 9"),
        ("--threads=9", "a value stands behind a colon: write threads: 9"),
        ("threads ", f"{SIGNS}: write threads"),
        ("_threads", f"{SIGNS}: write threads"),
        ("two words", SIGNS),
        ("two\nlines", SIGNS),
        ("zero\0", SIGNS),
        ("größe", SIGNS),
        ("", "the argument has no name"),
        (" ", "the argument has no name"),
        ("--", "the argument has no name"),
    ],
)
def test_a_name_that_is_no_flags(engine: str, name: str, sentence: str) -> None:
    assert faults(engine, {name: 1}) == [(f"args.{name}", sentence)]


@pytest.mark.parametrize("name", ["port=9", "--port", "--port=9", " port", "port.x"])
def test_an_argument_of_the_topology_is_told_as_such_however_it_is_written(name: str) -> None:
    assert faults("sglang", {name: True}) == [(f"args.{name}", TOPOLOGY)]


@pytest.mark.parametrize(
    ("engine", "name"),
    [("vllm", "profiler-config.x"), ("vllm", "speculative-config.method"), ("sglang", "O3"), ("vllm", "grpc"),
     ("vllm", "device"), ("vllm", "data-parallel-size"), ("vllm", "no-enable-prefix-caching"),
     ("sglang", "speculative-algo"), ("sglang", "tp"), ("command", "port"), ("simulator", "max-num-seqs"),
     ("trtllm", "any key: é"), ("trtllm", "po")],
)  # fmt: skip
def test_a_name_that_may_stand(engine: str, name: str) -> None:
    assert faults(engine, {name: 1}) == []


def test_keys_of_an_engines_own_file_are_not_empty() -> None:
    assert faults("trtllm", {"": 1}) == [("args.", "the key is empty")]


@pytest.mark.parametrize(
    ("engine", "args", "earlier"),
    [
        ("sglang", {"tp-size": 4, "tensor-parallel-size": 8}, "tp-size"),
        ("sglang", {"tp": 8, "tensor_parallel_size": 4}, "tp"),
        ("sglang", {"dp": 8, "dp_size": 4}, "dp"),
        ("sglang", {"data-parallel-size": 8, "dp": 4}, "data-parallel-size"),
        ("sglang", {"pp-size": 8, "pipeline-parallel-size": 4}, "pp-size"),
        ("sglang", {"ep": 8, "ep-size": 4}, "ep"),
        ("sglang", {"model-path": "/a", "model": "/b"}, "model-path"),
        ("tokenspeed", {"tp": 8, "tensor-parallel-size": 4}, "tp"),
        ("tokenspeed", {"model": "/a", "model_path": "/b"}, "model"),
    ],
)
def test_one_flag_by_two_names_is_given_twice(engine: str, args: dict[str, Any], earlier: str) -> None:
    assert faults(engine, args) == [(f"args.{[*args][1]}", TWICE.format(earlier))]


def test_parts_of_a_flag_are_none_of_another() -> None:
    assert faults("vllm", {"profiler-config.x": 1, "profiler-config.y": 2, "profiler-config": {}}) == []


@pytest.mark.parametrize(
    ("engine", "name", "flag"),
    [
        ("sglang", "por", "port"), ("sglang", "po", "port"), ("sglang", "nnode", "nnodes"),
        ("sglang", "disaggregation_m", "disaggregation-mode"), ("vllm", "data-parallel-size-l",
        "data-parallel-size-local"), ("vllm", "headl", "headless"),
        ("vllm", "data-parallel", "data-parallel-address"), ("mocker", "model", "model-name"),
        ("simulator", "hos", "host"), ("atom", "tensor-parallel", "tensor-parallel-size"),
        ("tokenspeed", "node-ra", "node-rank"), ("tilert", "http", "http-port"),
    ],
)  # fmt: skip
def test_a_beginning_of_a_flag_of_the_topology_is_refused(engine: str, name: str, flag: str) -> None:
    sentence = f"this is short for {flag}, which servesweep sets itself from the topology: remove it"
    assert faults(engine, {name: 1}) == [(f"args.{name}", sentence)]


@pytest.mark.parametrize(
    ("engine", "name", "flag"),
    [
        ("sglang", "served-model", "served-model-name"), ("sglang", "model-pa", "model-path"),
        ("sglang", "tensor-parallel", "tensor-parallel-size"), ("sglang", "tp-si", "tensor-parallel-size"),
        ("vllm", "kv_transfer", "kv-transfer-config"),
    ],
)  # fmt: skip
def test_what_is_read_is_written_in_full(engine: str, name: str, flag: str) -> None:
    assert faults(engine, {name: 1}) == [
        (f"args.{name}", f"this is short for {flag}: write the name in full")
    ]


@pytest.mark.parametrize(
    ("engine", "name", "sentence"),
    [
        ("vllm", "tp", "this name has a single dash on a command line: write tensor-parallel-size"),
        ("vllm", "pp", "this name has a single dash on a command line: write pipeline-parallel-size"),
        ("vllm", "dp", "this name has a single dash on a command line: write data-parallel-size"),
        ("vllm", "n", TOPOLOGY),
        ("vllm", "dpl", TOPOLOGY),
        ("atom", "dp", "this name has a single dash on a command line: write data-parallel-size"),
    ],
)
def test_names_with_a_single_dash(engine: str, name: str, sentence: str) -> None:
    assert faults(engine, {name: 2}) == [(f"args.{name}", sentence)]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ([], EMPTY),
        ([None], NO_WORD.format("nothing (null)")),
        ([True, False], NO_WORD.format("true")),
        ([1, False], NO_WORD.format("false")),
        ([[1, 2]], NO_WORD.format("a list")),
        ({"a": NAN}, JSON),
        ({"a": [1, {"b": INF}]}, JSON),
        ([{"a": -INF}], JSON),
        ("a\0", NUL),
        (["a", "b\0"], NUL),
    ],
)
@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "trtllm"])
def test_a_value_that_is_no_word(engine: str, value: Any, sentence: str) -> None:
    assert faults(engine, {"level": value}) == [("args.level", sentence)]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1, 2.5, "x", ""], ["--v", "1", "2.5", "x", ""]),
        (1e-5, ["--v", "1e-05"]),
        (INF, ["--v", "inf"]),
        ({"a": [True, None, 1e-5, "\0"]}, ["--v", '{"a":[true,null,1e-05,"\\u0000"]}']),
        ([{"a": {}}, {"b": 1}], ["--v", '{"a":{}}', '{"b":1}']),
        (True, ["--v"]),
        (False, []),
        (None, []),
    ],
)
def test_a_value_that_can_be_words(value: Any, words: list[str]) -> None:
    assert argument_faults({"v": value}, frozenset(), NO_WORDS) == []
    assert flags({"v": value}) == words


def test_an_engines_own_file_holds_any_value() -> None:
    assert faults("trtllm", {"a": [None, [True], []], "b": NAN}) == []


def test_one_letter_abbreviates_nothing() -> None:
    assert Vocabulary().abbreviated("p", {"port"}) is None


def test_a_dotted_name_is_told_on_its_own_line(plan: Callable[..., Plan]) -> None:
    with pytest.raises(RecipeError) as caught:
        plan("engine: vllm\nroles:\n  agg:\n    nodes: 1\n    args:\n      a: 1\n      nnodes.x: [null]\n")
    assert str(caught.value) == f"demo.yaml:11: roles.agg.args.nnodes.x: {TOPOLOGY}"
