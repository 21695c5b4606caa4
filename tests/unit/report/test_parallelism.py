"""Parallel sizes as the engines' own command lines tell them."""

import pytest

from servesweep.report.parallelism import has_attention_parallelism, sizes, speculation


@pytest.mark.parametrize(
    ("words", "gpus", "expected"),
    [
        ("vllm serve m --tensor-parallel-size 4 --data-parallel-size=2", 8, (4, 1, 2, 1)),
        ("vllm serve m -tp 4 --data-parallel-size 2 --enable-expert-parallel", 8, (4, 1, 2, 8)),
        ("python3 -m sglang.launch_server --tp-size 16 --dp 16 --ep-size 16", 16, (16, 1, 16, 16)),
        ("python3 -m dynamo.vllm --pipeline_parallel_size 2", 8, (4, 2, 1, 1)),
        ("python3 -m servesweep.simulator --port 8000", 2, (2, 1, 1, 1)),
        ("python3 -m servesweep.simulator --port 8000", None, (None, 1, 1, 1)),
    ],
)
def test_sizes(words, gpus, expected):
    assert tuple(sizes(words.split(), {}, gpus).values()) == expected


def test_arguments_of_a_role_count_where_the_command_line_is_silent():
    args = {"moe_expert_parallel_size": 8, "tensor_parallel_size": 4, "kv_cache": {"dtype": "fp8"}}
    assert sizes(["trtllm-serve", "--tp_size", "8"], args, 8) == {"tp": 4, "pp": 1, "dp": 1, "ep": 8}
    assert sizes(["trtllm-serve", "--tensor-parallel-size", "8"], args, 8)["tp"] == 8


@pytest.mark.parametrize(
    ("words", "args", "on"),
    [
        ("sglang --enable-dp-attention", {}, True),
        ("sglang --tp 8", {"enable-dp-attention": True}, True),
        ("sglang --tp 8", {"enable-dp-attention": False}, False),
        ("trtllm-serve", {"enable_attention_dp": True}, True),
        ("trtllm-serve", {}, False),
    ],
)
def test_attention(words, args, on):
    assert has_attention_parallelism(words.split(), args) is on


@pytest.mark.parametrize(
    ("words", "args", "method"),
    [
        ("sglang --speculative-algorithm NEXTN", {}, "mtp"),
        ("sglang --speculative-algo EAGLE3 --port 1", {}, "eagle3"),
        ('vllm serve m --speculative-config {"method":"mtp"}', {}, "mtp"),
        ("vllm serve m", {}, "none"),
        ("vllm serve m", {"speculative-algorithm": None}, "none"),
    ],
)
def test_speculative_decoding(words, args, method):
    assert speculation(words.split(), args) == method
