"""TokenSpeed's workers under Dynamo."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Step
from servesweep.recipe.problems import RecipeError


def test_prefill_and_decode_over_nodes(workers: Callable[..., dict[str, Step]]) -> None:
    steps = workers(
        "engine: tokenspeed\n"
        "roles:\n"
        "  prefill: {nodes: 1, gpus: 4, args: {max_model_len: 4096}}\n"
        "  decode: {nodes: 2, args: {model: x, attn-tp-size: 16}}\n"
    )
    start = "python3 -m dynamo.tokenspeed --model /models/tiny --served-model-name tiny --host"
    decode = "--dist-init-addr ip-n1:20050 --nnodes 2 --node-rank {} --disaggregation-mode decode"
    assert {name: " ".join(step.command.argv) for name, step in steps.items()} == {
        "prefill_0": (
            f"{start} ip-n0 --port 17500 --dist-init-addr ip-n0:20000 --nnodes 1 --node-rank 0"
            " --disaggregation-mode prefill --disaggregation-bootstrap-port 7200 --max-model-len 4096"
        ),
        "decode_0": f"{start} ip-n1 --port 17501 {decode.format(0)} --attn-tp-size 16",
        "decode_0_r1": f"{start} ip-n2 --port 17502 {decode.format(1)} --attn-tp-size 16",
    }
    env = steps["prefill_0"].command.env
    assert (env["DYN_SYSTEM_PORT"], env["CUDA_VISIBLE_DEVICES"]) == ("7500", "0,1,2,3")
    assert [step.probe is not None for step in steps.values()] == [True, True, False]


def test_it_needs_dynamo(workers: Callable[..., dict[str, Step]]) -> None:
    with pytest.raises(
        RecipeError, match="the engine tokenspeed does not work under sglang-router: use dynamo"
    ):
        workers("engine: tokenspeed\nroles: {agg: {nodes: 1}}\nfrontend: {type: sglang-router}\n")
