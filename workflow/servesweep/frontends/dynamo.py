"""`dynamo`: the OpenAI frontend of NVIDIA Dynamo; workers register through etcd."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.frontends.frontend import Frontend, frontend_flags
from servesweep.topology.deployment import Census, Command, Deployment


class Dynamo(Frontend):
    """`python3 -m dynamo.frontend`.

    Its `/health` answers 200 before any model is there and lists instances; `/v1/models` tells which
    models are served (both seen with ai-dynamo 1.6.1).
    """

    name = "dynamo"
    transport = "dynamo"
    services = ("etcd",)
    reserved = frozenset({"http-port", "http-host"})
    census_path = "/health"

    def command(self, deployment: Deployment, args: Mapping[str, Any]) -> Command:
        """Render the frontend on the public port."""
        words = ["python3", "-m", "dynamo.frontend", f"--http-port={deployment.public_port}"]
        return Command(argv=(*words, *frontend_flags(args)), env=dict(deployment.discovery))

    def census(self, body: Any) -> Census:
        """Count instances of the endpoint `generate` by component."""
        instances = body.get("instances", []) if isinstance(body, dict) else []
        components = [i.get("component") for i in instances if i.get("endpoint") == "generate"]
        prefill = components.count("prefill")
        return Census(prefill=prefill, decode=len(components) - prefill)
