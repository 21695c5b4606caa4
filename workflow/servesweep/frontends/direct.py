"""Direct ones: no frontend at all; the one worker is the public API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.frontends.frontend import Frontend
from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Command, Deployment, Endpoint
from servesweep.topology.ports import DIRECT, PortBlock
from servesweep.topology.shapes import Mode


class Direct(Frontend):
    """`direct`: a single aggregated worker, asked on its own port."""

    name = "direct"
    transport = "http"
    starts = False

    def command(self, deployment: Deployment, section: FrontendSection, port: int) -> Command | None:
        """Nothing to start."""
        return None

    def public(self, deployment: Deployment) -> Endpoint:
        """The worker's own endpoint."""
        worker = deployment.leaders("agg")[0]
        assert worker.http_port is not None
        return Endpoint(node=worker.node, port=worker.http_port)

    def refusals(
        self, workers: Mapping[Mode, int], engines: Mapping[Mode, str], args: Mapping[str, Any]
    ) -> list[tuple[str, str]]:
        """Refuse more than one worker, another engine, and arguments that would go nowhere."""
        faults = super().refusals(workers, engines, {})
        faults += [
            (f"args.{key}", f"{self.name} starts no process that could take arguments: remove it")
            for key in args
        ]
        if dict(workers) != {"agg": 1}:
            told = ", ".join(f"{count} {mode}" for mode, count in workers.items())
            message = f"{self.name} serves exactly one agg worker, and the recipe has {told}: use a router"
            faults.append(("type", message))
        return faults


class OneEngine(Direct):
    """The server of one engine, under the engine's name, on the public port."""

    def worker_ports(self, modes: frozenset[Mode]) -> PortBlock:
        """The public port."""
        return DIRECT


class SglangServer(OneEngine):
    """`sglang`: SGLang's own server."""

    name = "sglang"
    required_engines = frozenset({"sglang"})


class VllmServer(OneEngine):
    """`vllm`: `vllm serve`."""

    name = "vllm"
    required_engines = frozenset({"vllm"})
