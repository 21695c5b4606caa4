"""`atomesh`: ATOM's router over its HTTP workers.

Source of the flags: AToMesh, https://github.com/ROCm/ATOM, `atomesh launch --help`, and srt-slurm,
https://github.com/NVIDIA/srt-slurm, `docs/engines.md`.
"""

from __future__ import annotations

from typing import Any

from servesweep.frontends.frontend import Frontend, frontend_flags
from servesweep.frontends.rust_router import agg_urls, router_census
from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Census, Command, Deployment


class Atomesh(Frontend):
    """One router, started when its workers answer: it asks them how they hand over caches."""

    name = "atomesh"
    transport = "http"
    reserved = frozenset({"host", "port", "worker-urls", "prefill", "decode", "pd-disaggregation", "backend"})
    required_engines = frozenset({"atom"})
    census_path = "/workers"
    scales = True
    needs_workers = True

    def command(self, deployment: Deployment, section: FrontendSection, port: int) -> Command:
        """Render the router with the URL of each worker."""
        words = ["atomesh", "launch"]
        if deployment.disaggregated:
            words.append("--pd-disaggregation")
            for mode in ("prefill", "decode"):
                for worker in deployment.serving(mode):
                    words += [f"--{mode}", deployment.url(worker)]
        else:
            words += agg_urls(deployment)
        words += ["--host", "0.0.0.0", "--port", str(port), "--backend", "atom"]
        return Command(argv=(*words, *frontend_flags(section.args)))

    def census(self, body: Any) -> Census:
        """Count the workers that the router found healthy, by their type."""
        return router_census(body)
