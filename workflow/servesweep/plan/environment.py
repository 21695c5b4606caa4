"""The environment of workers and frontends beside what their commands set: presets, and what users say.

Names and values of the presets as in srt-slurm (https://github.com/NVIDIA/srt-slurm, `schema.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from servesweep.recipe.cluster import Cluster
from servesweep.recipe.observability import ObservabilitySection
from servesweep.recipe.recipe import Recipe
from servesweep.topology.deployment import Deployment

# Dynamo writes a line a closed span, and writes spans at this level only.
SPANS = {"DYN_LOGGING_SPAN_EVENTS": "true", "DYN_LOGGING_JSONL": "true", "DYN_LOG": "debug"}
TRACE_FILE = "dynamo-request-trace"


def preset(section: ObservabilitySection, component: str, deployment: Deployment) -> dict[str, str]:
    """Variables by which a component of Dynamo tells its spans; what users say wins over them.

    `component` is the mode of a worker, or `frontend`, which also writes a record for each request.
    """
    env: dict[str, str] = {}
    if deployment.transport != "dynamo":
        return env
    if section.enable_otel and section.otel_endpoint is not None:
        env |= {
            "DYN_LOGGING_JSONL": "1",
            "OTEL_EXPORT_ENABLED": "1",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": section.otel_endpoint,
            "OTEL_SERVICE_NAME": f"dynamo-{component}",
        }
    if section.enabled:
        env |= SPANS
    if section.enabled and component == "frontend":
        path = f"{deployment.logs}/{TRACE_FILE}"
        env |= {"DYN_REQUEST_TRACE": "1", "DYN_REQUEST_TRACE_FILE_PATH": path}
    return env


class Said(NamedTuple):
    """What cluster, role and recipe say about every worker of a role, and whether its node is asked for."""

    env: Mapping[str, str]
    placed: bool

    def of_worker(self, node: str | None, deployment: Deployment) -> Mapping[str, str]:
        """The variables with `{node}` and `{node_id}` filled in.

        Only these two are placeholders: other braces, such as those of JSON, stay as they are. `node` is None
        for a process that has no one node, where they stay too.
        """
        if node is None or not self.placed:
            return self.env
        name, number = deployment.host(node), str(deployment.number(node))
        return {
            key: value.replace("{node}", name).replace("{node_id}", number) for key, value in self.env.items()
        }


def said_of_role(recipe: Recipe, cluster: Cluster, role: Mapping[str, str]) -> Said:
    """The recipe's own variables win over the role's, and these over the cluster file's."""
    env = {**cluster.environment, **role, **recipe.environment}
    return Said(env, any("{node" in value for value in env.values()))
