"""`vllm-router`: vLLM's Rust router over HTTP workers.

Source of the flags: vllm-router 0.1.17, `python3 -m vllm_router.launch_router --help`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.engines.flags import kebab
from servesweep.engines.vocabulary import Vocabulary
from servesweep.frontends.frontend import Frontend, cache_aware, frontend_flags, metrics_flags, retry_flags
from servesweep.frontends.sglang_router import router_census
from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Census, Command, Deployment
from servesweep.topology.ports import VLLM_DISCOVERY

EXPANSION = "intra-node-data-parallel-size"


class VllmRouter(Frontend):
    """One router; disaggregated requests go to a prefill worker first, then to decode."""

    name = "vllm-router"
    transport = "http"
    reserved = frozenset(
        {"host", "port", "worker-urls", "prefill", "decode", "vllm-pd-disaggregation", "kv-connector",
         "vllm-discovery-address"}
    )  # fmt: skip
    vocabulary = Vocabulary(read=frozenset({EXPANSION}))
    required_engines = frozenset({"vllm", "simulator", "command"})
    census_path = "/workers"
    scales = True

    def command(self, deployment: Deployment, section: FrontendSection, port: int) -> Command:
        """Render the router with the URL of each worker; of prefill also where its KV cache is fetched."""
        words = ["python3", "-m", "vllm_router.launch_router"]
        if deployment.registering:
            # Workers tell it their URLs and transfer ports themselves, and it has no list of its own.
            words += ["--vllm-pd-disaggregation", "--kv-connector", "moriio"]
            discovery = deployment.port(deployment.frontend, VLLM_DISCOVERY)
            words += ["--vllm-discovery-address", f"0.0.0.0:{discovery}"]
        elif deployment.disaggregated:
            words.append("--vllm-pd-disaggregation")
            for worker in deployment.serving("prefill"):
                words += ["--prefill", deployment.url(worker), str(worker.nixl_port)]
            for worker in deployment.serving("decode"):
                words += ["--decode", deployment.url(worker)]
        else:
            words += ["--worker-urls", *(deployment.url(worker) for worker in deployment.serving("agg"))]
        words += ["--host", "0.0.0.0", "--port", str(port), *_expansion(deployment, section)]
        words += metrics_flags(section.args, deployment, port)
        return Command(argv=(*words, *retry_flags(section.args), *frontend_flags(section.args)))

    def remembers_prompts(self, args: Mapping[str, Any]) -> bool:
        """By the policy cache_aware."""
        return cache_aware(args)

    def census(self, body: Any) -> Census:
        """Count the workers that the router found healthy, by their type."""
        return router_census(body)


def _expansion(deployment: Deployment, section: FrontendSection) -> list[str]:
    """How many data-parallel ranks stand behind each URL: one number, where every worker has one URL."""
    served = deployment.serving("prefill", "decode", "agg")
    ranks = {process.data_parallel_ranks for process in served}
    if deployment.registering:
        return []
    several = len(served) > len(deployment.leaders("prefill", "decode", "agg"))
    if several or len(ranks) > 1 or ranks <= {1} or any(kebab(key) == EXPANSION for key in section.args):
        return []
    return [f"--{EXPANSION}", str(ranks.pop())]
