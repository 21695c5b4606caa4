"""Arguments that the topology decides: refused for every engine, wherever and however they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from servesweep.engines import ENGINES
from servesweep.plan.plan import Plan
from servesweep.recipe.problems import RecipeError

SENTENCE = "servesweep sets this argument itself from the topology: remove it"
RESERVED = {
    "simulator": "model-name model-path host port mode bootstrap-port",
    "mocker": "model-path model-name disaggregation-mode is-prefill-worker is-decode-worker bootstrap-ports",
    "sglang": (
        "dist-init-addr nccl-init-addr nnodes node-rank host port nccl-port grpc-port disaggregation-mode"
        " disaggregation-bootstrap-port request-plane dump-config-to"
    ),
    "vllm": (
        "headless master-addr nnodes node-rank host port grpc-port device-ids disaggregation-mode"
        " is-prefill-worker is-decode-worker data-parallel-size-local data-parallel-start-rank"
        " data-parallel-rank data-parallel-address request-plane dump-config-to"
    ),
    "trtllm": "host port model model-path disaggregation-mode request-plane extra-engine-args",
    "tilert": "engine host port http-port ctrl-port disaggregation-mode",
    "atom": "model host server-port tp tensor-parallel-size kv-transfer-config",
    "tokenspeed": (
        "host port dist-init-addr nnodes node-rank disaggregation-mode disaggregation-bootstrap-port"
        " request-plane"
    ),
    "command": "",
}
EVERY = [(engine, name) for engine, names in RESERVED.items() for name in names.split()]


def test_the_table_names_every_argument_of_every_engine() -> None:
    assert {name: engine.reserved for name, engine in ENGINES.items()} == {
        engine: frozenset(names.split()) for engine, names in RESERVED.items()
    }


@pytest.mark.parametrize(("engine", "name"), EVERY)
@pytest.mark.parametrize("spell", [str, lambda name: name.replace("-", "_")], ids=["kebab", "snake"])
def test_an_argument_of_the_topology_is_refused(engine: str, name: str, spell: Callable[[str], str]) -> None:
    mode = "decode" if engine == "tilert" else "agg"
    options = ENGINES[engine].Options()
    written: dict[str, Any] = {spell(name): 1, "other": 2}
    assert ENGINES[engine].refusals(mode, written, options) == [(f"args.{spell(name)}", SENTENCE)]


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "command"])
def test_an_argument_in_both_spellings_is_refused(engine: str) -> None:
    mode = "decode" if engine == "tilert" else "agg"
    faults = ENGINES[engine].refusals(mode, {"max_len": 1, "x": 2, "max-len": 1}, ENGINES[engine].Options())
    assert faults == [("args.max-len", "this argument is given twice: max_len is the same one, so keep one")]


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ("[--port, '1']", "--port"),
        ("[--port=1]", "--port"),
        ("[--tool_parser, x, --host=h, --config, c]", "--host and --config"),
        ("[--extra_llm_api_options, f]", "--extra_llm_api_options"),
        ("[--tensor-parallel-size=8]", "--tensor-parallel-size"),
        ("[--served_model_name=x]", "--served_model_name"),
    ],
)
def test_extra_args_of_the_topology_are_refused(plan: Callable[..., Plan], extra: str, told: str) -> None:
    with pytest.raises(RecipeError) as caught:
        plan(
            f"engine: trtllm\nroles: {{agg: {{nodes: 1, extra_args: {extra}}}}}\n"
            "frontend: {type: trtllm_serve}\n"
        )
    assert str(caught.value) == (
        "demo.yaml:6: roles.agg.extra_args: servesweep sets"
        f" {told} itself, from the topology and the role's args: remove it"
    )


def test_extra_args_are_of_no_use_under_dynamo(plan: Callable[..., Plan]) -> None:
    with pytest.raises(RecipeError, match="extra_args are flags of trtllm-serve, which does not run under"):
        plan("engine: trtllm\nroles: {agg: {nodes: 1, extra_args: [--tool_parser, x]}}\n")


@pytest.mark.parametrize(
    ("engine", "words", "nodes", "sentence"),
    [
        ("sglang", "--port=1", 1, "every replica serves on port 8080, which servesweep sets: remove --port"),
        ("vllm", "--port 1", 1, "every replica serves on port 8080, which servesweep sets: remove --port"),
        ("sglang", "--nnodes=2 --node_rank 1", 2,
         "servesweep sets the ranks of a replica itself: remove --nnodes and --node_rank"),
        ("vllm", "--headless --master-addr=x", 2,
         "servesweep sets the ranks of a replica itself: remove --headless and --master-addr"),
    ],
)  # fmt: skip
def test_framework_args_of_the_topology_are_refused(
    plan: Callable[..., Plan], engine: str, words: str, nodes: int, sentence: str
) -> None:
    with pytest.raises(RecipeError) as caught:
        plan(f"engine: {engine}\nreplicas: 1\nnodes_per_replica: {nodes}\nframework_args: {words}\n")
    assert str(caught.value) == f"demo.yaml:8: framework_args: {sentence}"


def test_what_vllm_finds_out_itself_is_told(plan: Callable[..., Plan]) -> None:
    args = "{data-parallel-size: 8, data_parallel_rpc_port: 13345, data-parallel-hybrid-lb: true}"
    found = plan(f"engine: vllm\nroles: {{agg: {{nodes: 1, args: {args}}}}}\n")
    assert found.notes == (
        "roles.agg.args.data_parallel_rpc_port is not used: servesweep sets it from the topology",
        "roles.agg.args.data-parallel-hybrid-lb is not used: servesweep sets it from the topology",
    )
