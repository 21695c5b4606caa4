"""`trtllm_serve`: TensorRT-LLM's own orchestrator over its servers, or its one server itself.

Source of the file's keys: `trtllm-serve disaggregated`, https://nvidia.github.io/TensorRT-LLM.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from servesweep.engines.flags import owned
from servesweep.frontends.frontend import Frontend, frontend_flags
from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Command, Deployment, Endpoint
from servesweep.topology.ports import DIRECT, WORKER_HTTP, PortBlock
from servesweep.topology.shapes import Mode

OWN_KEYS = frozenset({"context-servers", "generation-servers", "hostname", "port"})


class TrtllmServe(Frontend):
    """Disaggregated, one orchestrator that reads the workers' addresses from a file; aggregated, nothing."""

    name = "trtllm_serve"
    transport = "http"
    reserved = frozenset({"config", "config-file", "c", "host", "port"})
    required_engines = frozenset({"trtllm"})
    needs_workers = True

    def command(self, deployment: Deployment, section: FrontendSection, port: int) -> Command | None:
        """Render the orchestrator and its file."""
        if not deployment.disaggregated:
            return None
        servers = {
            "context_servers": _servers(deployment, "prefill", section.ctx_router),
            "generation_servers": _servers(deployment, "decode", section.gen_router),
            "hostname": "0.0.0.0",
            "port": port,
            **(section.server_config_extra or {}),
        }
        argv = ("trtllm-serve", "disaggregated", "--config", f"{deployment.logs}/ser.yaml")
        return Command(
            # Its options have underscores, and it knows them in no other spelling.
            argv=(*argv, *frontend_flags(section.args, spell=str)),
            files={f"{deployment.binding.logs}/ser.yaml": yaml.safe_dump(servers, sort_keys=False)},
        )

    def section_refusals(self, section: FrontendSection) -> list[tuple[str, str]]:
        """Keys of its file that the topology decides."""
        return [
            (f"server_config_extra.{key}", "servesweep writes this key from the topology: remove it")
            for key in owned(section.server_config_extra or (), OWN_KEYS)
        ]

    def worker_ports(self, modes: frozenset[Mode]) -> PortBlock:
        """The one aggregated worker is the public API."""
        return DIRECT if modes == {"agg"} else WORKER_HTTP

    def public(self, deployment: Deployment) -> Endpoint:
        """The orchestrator, or the worker itself."""
        if deployment.disaggregated:
            return Endpoint(node=deployment.frontend, port=deployment.public_port)
        worker = deployment.leaders("agg")[0]
        assert worker.http_port is not None
        return Endpoint(node=worker.node, port=worker.http_port)

    def refusals(
        self, workers: Mapping[Mode, int], engines: Mapping[Mode, str], args: Mapping[str, Any]
    ) -> list[tuple[str, str]]:
        """Nothing spreads requests over several aggregated workers."""
        faults = super().refusals(workers, engines, args)
        if (count := workers.get("agg", 1)) != 1:
            message = f"trtllm_serve serves exactly one agg worker, and the recipe has {count}: use dynamo"
            faults.append(("type", message))
        return faults


def _servers(deployment: Deployment, mode: str, router: Mapping[str, Any] | None) -> dict[str, Any]:
    urls = [f"{deployment.address(p.node)}:{p.http_port}" for p in deployment.serving(mode)]
    return {"num_instances": len(urls), "urls": urls, **({"router": dict(router)} if router else {})}
