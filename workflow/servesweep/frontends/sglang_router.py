"""`sglang-router`: SGLang's Rust router over HTTP workers.

Source of the flags and of `/workers`: sglang-router 0.3.2, `python3 -m sglang_router.launch_router --help`.
"""

from __future__ import annotations

from servesweep.frontends.rust_router import RustRouter, agg_urls, launch
from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Command, Deployment


class SglangRouter(RustRouter):
    """One router; prefill workers are named with their bootstrap port."""

    name = "sglang-router"
    reserved = frozenset({"host", "port", "worker-urls", "prefill", "decode", "pd-disaggregation"})
    required_engines = frozenset({"sglang", "simulator", "command"})

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
            words += agg_urls(deployment)
        return launch(words, deployment, section, port)
