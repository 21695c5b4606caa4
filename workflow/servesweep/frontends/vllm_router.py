"""`vllm-router`: vLLM's Rust router over HTTP workers.

Source of the flags: vllm-router 0.1.17, `python3 -m vllm_router.launch_router --help`.
"""

from __future__ import annotations

from servesweep.engines.flags import kebab
from servesweep.engines.vocabulary import Vocabulary
from servesweep.frontends.rust_router import RustRouter, agg_urls, launch
from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Command, Deployment
from servesweep.topology.ports import VLLM_DISCOVERY

EXPANSION = "intra-node-data-parallel-size"


class VllmRouter(RustRouter):
    """One router; disaggregated requests go to a prefill worker first, then to decode."""

    name = "vllm-router"
    reserved = frozenset(
        {"host", "port", "worker-urls", "prefill", "decode", "vllm-pd-disaggregation", "kv-connector",
         "vllm-discovery-address"}
    )  # fmt: skip
    vocabulary = Vocabulary(read=frozenset({EXPANSION}))
    required_engines = frozenset({"vllm", "simulator", "command"})

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
            words += agg_urls(deployment)
        return launch([*words, *_expansion(deployment, section)], deployment, section, port)


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
