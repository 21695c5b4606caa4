"""Free-form arguments of replicas and of their router: what the plan sets, abbreviated or by other names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan

PORT = "every replica serves on port 8080, which servesweep sets: remove "
RANKS = "servesweep sets the ranks of a replica itself: remove "


@pytest.mark.parametrize(
    ("engine", "nodes", "words", "sentence"),
    [
        ("sglang", 1, "--por 9", PORT + "--por"),
        ("sglang", 1, "--po=9", PORT + "--po"),
        ("vllm", 1, "--model m --port 9", PORT + "--port"),
        ("sglang", 2, "--nnode 2 --node-r 0", RANKS + "--nnode and --node-r"),
        ("vllm", 2, "-n 2 -r0", RANKS + "-n and -r"),
        ("vllm", 2, "--headl", RANKS + "--headl"),
        ("sglang", 1, "--tp 8 --tensor-parallel-size 4",
         "--tensor-parallel-size is given twice: --tp is the same one, so keep one"),
        ("sglang", 1, "--tp 8 --tp 8", "--tp is given twice: keep one"),
        ("vllm", 1, "-tp8 --tensor_parallel_size 4",
         "-tp is given twice: --tensor_parallel_size is the same one, so keep one"),
        ("sglang", 1, "--served-model m",
         "--served-model is short for --served-model-name: write the name in full"),
        ("sglang", 1, "--tensor 8", "--tensor is short for --tensor-parallel-size: write the name in full"),
    ],
)  # fmt: skip
def test_what_an_engines_words_may_not_say(
    complaint: Callable[..., str], engine: str, nodes: int, words: str, sentence: str
) -> None:
    text = f"engine: {engine}\nreplicas: 1\nnodes_per_replica: {nodes}\nframework_args: {words}\n"
    assert complaint(text) == f"demo.yaml:7: framework_args: {sentence}"


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("sglang", "--portal 1 --tp 8 --dp 8 --enable-dp-attention"),
        ("sglang", "--nnodes 1 --node-rank 0"),
        ("vllm", "-tp 8 -dp 1 -O3 --lora-modules a --lora-modules b"),
        ("vllm", "model --data-parallel-size 2 --temperature -1"),
        ("simulator", "--fault a --fault b"),
    ],
)
def test_what_they_may_say(plan: Callable[..., Plan], engine: str, words: str) -> None:
    (worker,) = plan(f"engine: {engine}\nreplicas: 1\nframework_args: {words}\n").steps
    assert set(words.split()) <= set(worker.command.argv)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("--policy x --policy y", "--policy is given twice: keep one"),
        ("--policy x --policy=x", "--policy is given twice: keep one"),
        ("--a_b 1 --a-b 2", "--a-b is given twice: --a_b is the same one, so keep one"),
        ("--port 9", "servesweep sets this argument of the router itself: remove --port"),
        ("--host=x", "servesweep sets this argument of the router itself: remove --host"),
        (
            "--por 9",
            "--por: this is short for port, which servesweep sets itself from the topology: remove it",
        ),
        ("--", "--: the argument has no name"),
        ("--ä 1", "--ä: the name of an argument has letters, digits, `.`, `_` and `-` alone"),
        ("9 --x", "the text is no command line: '9' stands before any argument's name"),
        ('--x "y', "the text is no command line: no closing quotation"),
    ],
)
def test_what_a_routers_words_may_not_say(complaint: Callable[..., str], words: str, sentence: str) -> None:
    text = f"engine: sglang\nreplicas: 2\nrouter: sglang\nrouter_args: '{words}'\n"
    assert complaint(text) == f"demo.yaml:7: router_args: {sentence}"
