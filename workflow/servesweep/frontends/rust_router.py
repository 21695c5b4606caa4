"""What the routers of SGLang, vLLM and ATOM have in common: they are written in Rust, from one origin.

Source of the flags and of `/workers`: sglang-router 0.3.2 and vllm-router 0.1.17, `--help`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.engines.flags import kebab
from servesweep.frontends.frontend import Frontend, frontend_flags
from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Census, Command, Deployment
from servesweep.topology.ports import ROUTER_METRICS

METRICS = "prometheus-port"


class RustRouter(Frontend):
    """A router in front of HTTP workers, that tells which of them it found healthy."""

    transport = "http"
    census_path = "/workers"
    scales = True

    def remembers_prompts(self, args: Mapping[str, Any]) -> bool:
        """By the policy cache_aware."""
        return _cache_aware(args)

    def census(self, body: Any) -> Census:
        """Count the workers that the router found healthy, by their type."""
        return router_census(body)


def launch(words: list[str], deployment: Deployment, section: FrontendSection, port: int) -> Command:
    """A router that listens on `port`, after the words that name its workers."""
    own = [*_metrics_flags(section.args, deployment, port), *retry_flags(section.args)]
    listens = ("--host", "0.0.0.0", "--port", str(port))
    return Command(argv=(*words, *listens, *own, *frontend_flags(section.args)))


def agg_urls(deployment: Deployment) -> list[str]:
    """The flag that names aggregated workers."""
    return ["--worker-urls", *(deployment.url(worker) for worker in deployment.serving("agg"))]


def router_census(body: Any) -> Census:
    """Read the list `workers` of `GET /workers`, which both Rust routers answer.

    A worker counts when it is healthy; `worker_type` is prefill, decode or regular.
    """
    workers = body.get("workers", []) if isinstance(body, dict) else []
    kinds = [str(worker.get("worker_type", "regular")) for worker in workers if worker.get("is_healthy")]
    prefill = sum(kind.startswith("prefill") for kind in kinds)
    return Census(prefill=prefill, decode=len(kinds) - prefill)


def _metrics_flags(args: Mapping[str, Any], deployment: Deployment, port: int) -> list[str]:
    """Where the router that listens on `port` tells its metrics, on a node that other jobs share.

    It opens that port unasked, and a second router of the node ends for it.
    """
    node = next(one.node for one in deployment.frontends if one.port == port)
    if not deployment.binding.windows.get(node) or any(kebab(name) == METRICS for name in args):
        return []
    return [f"--{METRICS}", str(deployment.port(node, ROUTER_METRICS))]


def _cache_aware(args: Mapping[str, Any]) -> bool:
    """Whether one of a Rust router's policies is `cache_aware`, which is also the default of both."""
    said = {kebab(name): value for name, value in args.items()}
    own = said.get("policy", "cache_aware")
    return "cache_aware" in (said.get("prefill-policy", own), said.get("decode-policy", own))


def retry_flags(args: Mapping[str, Any]) -> list[str]:
    """Turn a router's retries off, unless the recipe says something about them.

    A retried request hides a worker that fails, and shows as a slow answer of one that does not.
    """
    told = any(kebab(name).startswith(("retry-", "disable-retries")) for name in args)
    return [] if told else ["--disable-retries"]
