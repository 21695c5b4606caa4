"""`none`: nothing is public; the benchmark must know its way itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.frontends.frontend import Frontend
from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Command, Deployment, Endpoint
from servesweep.topology.shapes import Mode


class Nothing(Frontend):
    """Workers without a frontend."""

    name = "none"
    transport = "http"
    starts = False

    def command(self, deployment: Deployment, section: FrontendSection, port: int) -> Command | None:
        """Nothing to start."""
        return None

    def public(self, deployment: Deployment) -> Endpoint | None:
        """Nothing is public."""
        return None

    def refusals(
        self, workers: Mapping[Mode, int], engines: Mapping[Mode, str], args: Mapping[str, Any]
    ) -> list[tuple[str, str]]:
        """Refuse arguments that would go nowhere."""
        return [
            (f"args.{key}", "frontend none starts no process that could take arguments: remove it")
            for key in args
        ]
