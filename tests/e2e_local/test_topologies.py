"""The shipped recipes of several workers, with the real routers and the real Dynamo, on one machine."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).parents[2]


def is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


ROUTER = ("sglang-router", is_there("sglang_router"), "uv pip install -e '.[sglang-router]'")
COMPONENTS = {
    "sglang-router-disagg": [ROUTER],
    "replicas": [ROUTER],
    "vllm-router-agg": [("vllm-router", is_there("vllm_router"), "uv pip install -e '.[vllm-router]'")],
    "dynamo-disagg": [
        ("ai-dynamo", is_there("dynamo"), "uv pip install -e '.[dynamo]'"),
        ("etcd", shutil.which("etcd") is not None, "apt-get install etcd-server"),
    ],
}
WORKERS = {
    "sglang-router-disagg": ["decode_0", "decode_1", "prefill_0"],
    "replicas": ["agg_0", "agg_1"],
    "vllm-router-agg": ["agg_0", "agg_1"],
    "dynamo-disagg": ["decode_0", "decode_1", "prefill_0", "prefill_1"],
}


@pytest.mark.parametrize("recipe", list(COMPONENTS))
def test_a_feature_recipe_runs_on_this_machine(quick: Any, require: Any, recipe: str) -> None:
    for component in COMPONENTS[recipe]:
        require(*component)
    project = quick.project
    shutil.copy(
        REPOSITORY / f"config/recipes/features/{recipe}.yaml", project.root / "config/recipes/quick.yaml"
    )
    words = [
        "--set",
        "benchmark.num_prompts_mult=2",
        "--cluster",
        "config/local.yaml",
        "--results",
        "results",
    ]
    assert project.servesweep("validate", "config/recipes/quick.yaml", *words).returncode == 0
    done = project.servesweep("run", "results/quick", "--launcher", "local")
    assert done.returncode == 0, done.stdout
    assert quick.json("health.json")["workers"] == WORKERS[recipe]
    for point in ("c1", "c4"):
        result = quick.json(f"points/{point}/result.json")
        assert result["valid"] is True
        assert result["requests"]["completed"] == result["requests"]["asked"]
