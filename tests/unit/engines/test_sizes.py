"""GPUs that the parallel sizes among a worker's arguments take."""

from __future__ import annotations

from typing import Any

import pytest

from servesweep.engines import ENGINES
from servesweep.engines.flags import given


@pytest.mark.parametrize(
    ("engine", "args", "gpus"),
    [
        ("sglang", {}, None),
        ("sglang", {"tp": 8}, 8),
        ("sglang", {"tp_size": 8, "pp-size": 2}, 16),
        ("sglang", {"tp": 2, "dp-size": 4}, 8),
        ("sglang", {"tensor-parallel-size": 8, "data-parallel-size": 8, "enable-dp-attention": True}, 8),
        ("sglang", {"tp": 8, "dp": 8, "enable-dp-attention": False}, 64),
        ("sglang", {"tp": "eight"}, None),
        ("vllm", {"tensor-parallel-size": 4, "pipeline_parallel_size": "2"}, 8),
        ("vllm", {"tensor-parallel-size": 4, "prefill-context-parallel-size": 2}, 8),
        ("vllm", {"tensor-parallel-size": 4, "data-parallel-size": 2}, None),
        ("vllm", {"tensor-parallel-size": 4, "data-parallel-size": "1"}, 4),
        (
            "trtllm",
            {"tensor_parallel_size": 4, "pipeline_parallel_size": 2, "moe_expert_parallel_size": 4},
            8,
        ),
        ("trtllm", {"tensor_parallel_size": 4, "context_parallel_size": 2}, 8),
        ("tokenspeed", {"world-size": 8, "attn-tp-size": 4}, 8),
        ("tokenspeed", {"attn-tp-size": 4}, None),
    ],
)
def test_the_sizes_of_a_role(engine: str, args: dict[str, Any], gpus: int | None) -> None:
    assert ENGINES[engine].gpus_of(args) == gpus


@pytest.mark.parametrize(
    ("engine", "words", "gpus"),
    [
        ("sglang", "--tp 8 --dp=8 --enable-dp-attention --max 1", 8),
        ("sglang", "--enable-dp-attention --tp 8 --dp 8", 8),
        ("sglang", "--tp 2 --dp 4", 8),
        ("vllm", "model -tp 8 -pp=2", 16),
        ("vllm", "--tensor_parallel_size 8", 8),
    ],
)
def test_the_sizes_of_a_replica(engine: str, words: str, gpus: int) -> None:
    assert ENGINES[engine].gpus_of(given(words.split())) == gpus


def test_flags_of_a_command_line_with_their_values() -> None:
    words = ["x", "--a", "1", "2", "--b=3", "--c", "-d", "-4", "--a", "5"]
    assert given(words) == {"a": "5", "b": "3", "c": "", "d": "-4"}
