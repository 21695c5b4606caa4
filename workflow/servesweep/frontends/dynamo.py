"""`dynamo`: the OpenAI frontend of NVIDIA Dynamo; workers register through etcd."""

from __future__ import annotations

from typing import Any

import yaml

from servesweep.engines.dynamo_worker import LOGGING, planes
from servesweep.engines.flags import owned
from servesweep.engines.vocabulary import Vocabulary
from servesweep.frontends.frontend import Frontend, frontend_flags
from servesweep.recipe.frontend import FrontendSection
from servesweep.topology.deployment import Census, Command, Deployment

QUIET = "DYN_SKIP_SGLANG_LOG_FORMATTING"
POLICY = "router_policy_config.yaml"
POLICY_FLAG = "router-policy-config"
POLICY_VARIABLE = "DYN_ROUTER_POLICY_CONFIG"


class Dynamo(Frontend):
    """`python3 -m dynamo.frontend`.

    Its `/health` answers 200 before any model is there and lists instances; `/v1/models` tells which
    models are served (both seen with ai-dynamo 1.6.1).
    """

    name = "dynamo"
    transport = "dynamo"
    reserved = frozenset({"http-port", "http-host", "request-plane", "event-plane"})
    vocabulary = Vocabulary(read=frozenset({POLICY_FLAG}))
    census_path = "/health"
    scales = True

    def command(self, deployment: Deployment, section: FrontendSection, port: int) -> Command:
        """Render one frontend."""
        words = ["python3", "-m", "dynamo.frontend", f"--http-port={port}"]
        files = {}
        if section.worker_selection is not None:
            words += [f"--{POLICY_FLAG}", f"{deployment.logs}/{POLICY}"]
            text = yaml.safe_dump(section.worker_selection, sort_keys=False)
            files = {f"{deployment.binding.logs}/{POLICY}": text}
        env = {**deployment.discovery, **planes(deployment), QUIET: LOGGING[QUIET]}
        return Command(argv=(*words, *frontend_flags(section.args)), env=env, files=files)

    def section_refusals(self, section: FrontendSection) -> list[tuple[str, str]]:
        """Two policies would contradict each other."""
        if section.worker_selection is None:
            return []
        return [
            (key, "worker_selection writes the router's policy, so this one would not be read: keep one")
            for key in (
                *(f"args.{name}" for name in owned(section.args, {POLICY_FLAG})),
                *(f"env.{name}" for name in section.env if name == POLICY_VARIABLE),
            )
        ]

    def expected(self, deployment: Deployment) -> Census:
        """Every process that registers: with data parallelism by node or GPU there are several a worker."""
        prefill, rest = deployment.registered("prefill"), deployment.registered("decode", "agg")
        return Census(prefill=len(prefill), decode=len(rest))

    def census(self, body: Any) -> Census:
        """Count instances of the endpoint `generate` by component."""
        instances = body.get("instances", []) if isinstance(body, dict) else []
        components = [i.get("component") for i in instances if i.get("endpoint") == "generate"]
        prefill = components.count("prefill")
        return Census(prefill=prefill, decode=len(components) - prefill)
