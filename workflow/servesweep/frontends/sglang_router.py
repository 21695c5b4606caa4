"""`sglang-router`: SGLang's Rust router over HTTP workers.

Source of the flags and of `/workers`: sglang-router 0.3.2, `python3 -m sglang_router.launch_router --help`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.frontends.frontend import Frontend, cache_aware, frontend_flags, metrics_flags, retry_flags
from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Census, Command, Deployment


class SglangRouter(Frontend):
    """One router; prefill workers are named with their bootstrap port."""

    name = "sglang-router"
    transport = "http"
    reserved = frozenset({"host", "port", "worker-urls", "prefill", "decode", "pd-disaggregation"})
    required_engines = frozenset({"sglang", "simulator", "command"})
    census_path = "/workers"
    scales = True

    def command(self, deployment: Deployment, section: FrontendSection, port: int) -> Command:
        """Render the router with the URL of each worker."""
        words = ["python3", "-m", "sglang_router.launch_router"]
        if deployment.disaggregated:
            words.append("--pd-disaggregation")
            for worker in deployment.serving("prefill"):
                words += ["--prefill", deployment.url(worker), str(worker.bootstrap_port)]
            for worker in deployment.serving("decode"):
                words += ["--decode", deployment.url(worker)]
        else:
            words += ["--worker-urls", *(deployment.url(worker) for worker in deployment.serving("agg"))]
        words += ["--host", "0.0.0.0", "--port", str(port)]
        words += metrics_flags(section.args, deployment, port)
        return Command(argv=(*words, *retry_flags(section.args), *frontend_flags(section.args)))

    def remembers_prompts(self, args: Mapping[str, Any]) -> bool:
        """By the policy cache_aware."""
        return cache_aware(args)

    def census(self, body: Any) -> Census:
        """Count the workers that the router found healthy, by their type."""
        return router_census(body)


def router_census(body: Any) -> Census:
    """Read the list `workers` of `GET /workers`, which both Rust routers answer.

    A worker counts when it is healthy; `worker_type` is prefill, decode or regular.
    """
    workers = body.get("workers", []) if isinstance(body, dict) else []
    kinds = [str(worker.get("worker_type", "regular")) for worker in workers if worker.get("is_healthy")]
    prefill = sum(kind.startswith("prefill") for kind in kinds)
    return Census(prefill=prefill, decode=len(kinds) - prefill)
