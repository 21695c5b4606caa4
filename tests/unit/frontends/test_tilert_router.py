"""TileRT's router over one vLLM and its own decode servers."""

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan
from servesweep.recipe.problems import RecipeError

PAIR = (
    "roles:\n"
    "  prefill: {engine: vllm, nodes: 1, args: {served-model-name: glm, kv-transfer-config: '{}'}}\n"
    "  decode:\n"
    "    engine: tilert\n"
    "    nodes: 1\n"
    "    workers: 2\n"
    "    args: {model: glm5, with-mtp: true, off: false, a: [1, 2]}\n"
)
ROUTER = "frontend: {type: tilert-router, args: {parser: none, model-path: org/glm}}\n"


def test_the_pair_behind_its_router(plan: Callable[..., Plan]) -> None:
    found = plan(PAIR + ROUTER)
    tilert = "python -m tilert.pd_vllm.decode_server --engine tilert --http-port {} --ctrl-port {}"
    assert {step.name: " ".join(step.command.argv) for step in found.steps} == {
        "prefill_0": (
            "vllm serve /models/tiny --host 0.0.0.0 --port 6100 --served-model-name glm"
            " --kv-transfer-config {} --device-ids 0,1,2,3,4,5,6,7"
        ),
        "decode_0": f"{tilert.format(6100, 5401)} --model glm5 --with-mtp --a 1 --a 2",
        "decode_1": f"{tilert.format(6132, 5402)} --model glm5 --with-mtp --a 1 --a 2",
        "frontend_0": (
            "python -m tilert.pd_vllm.pd_router --vllm-url http://ip-n0:6100 --decode ip-n1:5401:6100"
            " ip-n1:5402:6132 --host 0.0.0.0 --port 8000 --parser none --model-path org/glm"
        ),
    }
    assert found.served_model == "glm"
    assert found.steps[-1].after_workers


@pytest.mark.parametrize(
    ("roles", "sentence"),
    [
        (
            "{prefill: {engine: vllm, nodes: 1, workers: 2}, decode: {engine: tilert, nodes: 1}}",
            "tilert-router takes one prefill worker, and the recipe has 2",
        ),
        (
            "{prefill: {engine: sglang, nodes: 1}, decode: {engine: tilert, nodes: 1}}",
            "tilert-router serves the engines tilert and vllm, and roles.prefill has sglang",
        ),
        (
            "{prefill: {engine: tilert, nodes: 1}, decode: {engine: vllm, nodes: 1}}",
            "tilert decodes only: the role prefill needs another engine",
        ),
        (
            "{prefill: {engine: vllm, nodes: 1}, decode: {engine: tilert, nodes: 2, workers: 1}}",
            "a worker of the engine tilert runs on one node",
        ),
    ],
)
def test_other_pairs_are_refused(plan: Callable[..., Plan], roles: str, sentence: str) -> None:
    with pytest.raises(RecipeError, match=sentence):
        plan(f"roles: {roles}\n{ROUTER}")
