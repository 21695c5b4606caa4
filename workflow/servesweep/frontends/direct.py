"""`direct`: no frontend at all; the one worker is the public API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.frontends.frontend import Frontend
from servesweep.topology.deployment import Command, Deployment, Endpoint
from servesweep.topology.shapes import Mode


class Direct(Frontend):
    """A single aggregated worker, asked on its own port."""

    name = "direct"
    transport = "http"

    def command(self, deployment: Deployment, args: Mapping[str, Any]) -> Command | None:
        """Nothing to start."""
        return None

    def public(self, deployment: Deployment) -> Endpoint:
        """The worker's own endpoint."""
        worker = deployment.leaders("agg")[0]
        return Endpoint(node=worker.node, port=worker.http_port)

    def refusals(
        self, workers: Mapping[Mode, int], engines: Mapping[Mode, str], args: Mapping[str, Any]
    ) -> list[tuple[str, str]]:
        """Refuse more than one worker, and arguments that would go nowhere."""
        faults = [
            (f"args.{key}", "direct starts no process that could take arguments: remove it") for key in args
        ]
        if dict(workers) != {"agg": 1}:
            told = ", ".join(f"{count} {mode}" for mode, count in workers.items())
            faults.append(
                ("type", f"direct serves exactly one agg worker, and the recipe has {told}: use a router")
            )
        return faults
