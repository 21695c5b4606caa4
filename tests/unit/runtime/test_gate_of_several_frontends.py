"""Behind nginx every frontend is asked itself: requests would go to those, too, that know too few workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.cluster import Cluster
from servesweep.runtime.health_gate import Gate
from servesweep.topology.deployment import Endpoint

TEXT = """
schema: 2
name: demo
model: {path: tiny, precision: fp8}
engine: simulator
roles: {prefill: {nodes: 1}, decode: {nodes: 2, workers: 2}}
frontend: {type: sglang-router, enable_multiple_frontends: true}
"""
PREFILL, DECODE = ({"worker_type": kind, "is_healthy": True} for kind in ("prefill", "decode"))
ALL = [PREFILL, DECODE, DECODE]


@asynccontextmanager
async def server(workers: list[dict[str, Any]], tokens: int = 4) -> AsyncIterator[int]:
    """A frontend that knows these workers and answers with so many tokens; yields its port."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response(
            {
                "/workers": {"workers": workers},
                "/v1/models": {"data": [{"id": "tiny"}]},
                "/v1/completions": {"usage": {"completion_tokens": tokens}},
            }[request.path]
        )

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, list[int]], Gate]:
    """A gate whose nginx and frontends listen on these ports."""
    monkeypatch.chdir(tmp_path)
    Path("demo.yaml").write_text(TEXT)
    cluster = Cluster.model_validate({"launcher": "slurm", "model_paths": {"tiny": "/models/tiny"}})
    ((_, plan),) = read_recipe_file(RecipeFile("demo.yaml"), cluster, Path())

    def make(public: int, ports: list[int]) -> Gate:
        known = plan.deployment
        binding = replace(known.binding, addresses=dict.fromkeys(known.binding.addresses, "127.0.0.1"))
        several = tuple(Endpoint(node=f"n{at}", port=port) for at, port in enumerate(ports, 1))
        deployment = replace(known, frontends=several, public_port=public, binding=binding)
        changed = replace(plan, deployment=deployment, public=Endpoint(node="n0", port=public))
        return Gate(changed, tmp_path, {}, lambda line: None)

    return make


async def asked(make: Callable[[int, list[int]], Gate], *frontends: Any) -> tuple[Any, str, list[int]]:
    """The verdict, what the gate waits for, and the ports of the frontends behind the public one."""
    async with AsyncExitStack() as stack, aiohttp.ClientSession() as session:
        public = await stack.enter_async_context(server(ALL))
        ports = [await stack.enter_async_context(one) for one in frontends]
        gate = make(public, ports)
        return await gate._ask_frontend(session), gate.waiting_for, ports


def test_it_opens_when_each_of_them_knows_all_workers(gate: Any) -> None:
    verdict, _, _ = asyncio.run(asked(gate, server(ALL), server(ALL)))
    assert verdict["request"] == {"completion_tokens": 4}


def test_it_waits_for_the_one_that_knows_too_few(gate: Any) -> None:
    verdict, waits, ports = asyncio.run(asked(gate, server(ALL), server([PREFILL, DECODE])))
    assert verdict is None
    assert waits == (
        f"the frontend http://127.0.0.1:{ports[1]} knows 1 prefill and 1 decode workers"
        " of 1 prefill and 2 decode"
    )


def test_it_waits_for_the_one_that_gives_no_answer(gate: Any) -> None:
    verdict, waits, ports = asyncio.run(asked(gate, server(ALL), server(ALL, tokens=0)))
    assert verdict is None
    assert waits == f"a real request to http://127.0.0.1:{ports[1]} was answered with no tokens"
