"""The health gate and workers that come and go before it opens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import aiohttp
import pytest

from servesweep.plan.plan import Step
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.cluster import Cluster
from servesweep.runtime.health_gate import Gate
from servesweep.runtime.unhealthy import UnhealthyError

TEXT = """
schema: 2
name: demo
model: {path: tiny, precision: fp8}
engine: simulator
roles: {agg: {nodes: 1, workers: 2, restart: POLICY}}
frontend: {type: sglang-router}
"""
NO_SESSION = cast(aiohttp.ClientSession, None)


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Gate]:
    monkeypatch.chdir(tmp_path)

    def make(policy: str = "never") -> Gate:
        Path("demo.yaml").write_text(TEXT.replace("POLICY", policy))
        cluster = Cluster.model_validate({"launcher": "slurm", "model_paths": {"tiny": "/models/tiny"}})
        ((_, plan),) = read_recipe_file(RecipeFile("demo.yaml"), cluster, Path())
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs/gpu17_agg_w1.out").write_text("CUDA out of memory\n")
        return Gate(plan, tmp_path / "logs", {"n0": "gpu17"}, lambda line: None)

    return make


def test_a_fatal_line_names_its_worker_with_node_and_log(gate: Any) -> None:
    with pytest.raises(UnhealthyError) as caught:
        gate()._look_for_fatal_lines()
    assert caught.value.record() == {
        "schema": 1,
        "message": "agg_1 printed a fatal line: CUDA out of memory",
        "step": "agg_1",
        "node": "gpu17",
        "log": "logs/gpu17_agg_w1.out",
    }


@pytest.mark.parametrize("policy", ["on-failure", "always"])
def test_a_worker_that_will_be_started_again_may_print_one(gate: Any, policy: str) -> None:
    gate(policy)._look_for_fatal_lines()


def test_who_was_ready_and_is_gone_when_the_last_one_comes_is_waited_for_again(
    gate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = [{"agg_0"}, {"agg_1"}, {"agg_0", "agg_1"}]

    async def ready(self: Gate, session: aiohttp.ClientSession, step: Step) -> bool:
        return step.name in rounds[0]

    monkeypatch.setattr(Gate, "_ready", ready)
    one = gate()

    async def look() -> dict[str, Any] | None:
        found: dict[str, Any] | None = await one._probe_workers(NO_SESSION)
        rounds.pop(0)
        return found

    assert asyncio.run(look()) is None
    assert asyncio.run(look()) is None
    assert one.waiting_for == "1 of 2 workers ready, missing agg_0"
    assert asyncio.run(look()) == {"workers": ["agg_0", "agg_1"]}
