"""`tilert-router`: TileRT's router over one vLLM that computes prompts and TileRT servers that decode.

Source of the flags: TileRT 0.1.6, https://github.com/tile-ai/TileRT, `tilert/pd_vllm/pd_router.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.frontends.frontend import Frontend, frontend_flags
from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Command, Deployment
from servesweep.topology.shapes import Mode

PAIR = {"prefill": "vllm", "decode": "tilert"}


class TilertRouter(Frontend):
    """One router, started when its workers answer; it tells nothing about them."""

    name = "tilert-router"
    transport = "http"
    reserved = frozenset({"vllm-url", "decode", "host", "port"})
    required_engines = frozenset(PAIR.values())
    needs_workers = True

    def command(self, deployment: Deployment, section: FrontendSection, port: int) -> Command:
        """Render the router: of each decode worker its address, control port and HTTP port."""
        (prefill,) = deployment.serving("prefill")
        decode = [
            f"{deployment.address(worker.node)}:{worker.nixl_port}:{worker.http_port}"
            for worker in deployment.serving("decode")
        ]
        words = ["python", "-m", "tilert.pd_vllm.pd_router", "--vllm-url", deployment.url(prefill)]
        words += ["--decode", *decode, "--host", "0.0.0.0", "--port", str(port)]
        return Command(argv=(*words, *frontend_flags(section.args)))

    def refusals(
        self, workers: Mapping[Mode, int], engines: Mapping[Mode, str], args: Mapping[str, Any]
    ) -> list[tuple[str, str]]:
        """Only the one pair of engines talks to this router, and only one worker computes prompts."""
        faults = super().refusals(workers, engines, args)
        if any(key == "type" for key, _ in faults):
            return faults
        if dict(engines) != PAIR:
            told = ", ".join(f"{mode}: {engine}" for mode, engine in engines.items())
            message = f"tilert-router joins vllm prefill and tilert decode, and the recipe has {told}"
            faults.append(("type", message))
        elif workers["prefill"] != 1:
            message = f"tilert-router takes one prefill worker, and the recipe has {workers['prefill']}"
            faults.append(("type", message))
        return faults
