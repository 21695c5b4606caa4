"""What workers of every engine have in common under Dynamo."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from servesweep.engines.engine import WorkerSpec
from servesweep.topology.deployment import Deployment, registers, step_name
from servesweep.topology.shapes import ProcessPlace

# Ready means that the worker's `generate` endpoint answers, not that the process is up:
# https://github.com/ai-dynamo/dynamo, docs on health checks.
HEALTH = {"DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]'}
# As srt-slurm sets them: its later rewrite of log lines is off, and a line for each request is not written.
LOGGING = {
    "DYN_SKIP_SGLANG_LOG_FORMATTING": "1",
    "DYN_LOG": "info,dynamo_runtime::pipeline::network::ingress::push_handler=warn",
}


def planes(deployment: Deployment) -> dict[str, str]:
    """Environment by which Dynamo's parts agree on how they talk."""
    events = {"DYN_EVENT_PLANE": deployment.event_plane} if deployment.event_plane else {}
    return {"DYN_REQUEST_PLANE": deployment.request_plane, **events}


def dynamo_environment(process: ProcessPlace, deployment: Deployment) -> dict[str, str]:
    """Environment by which a worker finds the discovery plane and offers its own health endpoint."""
    system = {"DYN_SYSTEM_PORT": str(process.system_port)}
    return {**deployment.discovery, **system, **planes(deployment), **LOGGING, **HEALTH}


def config_dump(process: ProcessPlace, deployment: Deployment) -> list[str]:
    """Where the engine writes its resolved configuration: a file a process, as nodes may hold several."""
    if not deployment.config_dump:
        return []
    return ["--dump-config-to", f"{deployment.logs}/{step_name(process)}_config.json"]


def kv_events(process: ProcessPlace, worker: WorkerSpec, host: str = "*", **more: Any) -> list[str]:
    """The flag by which a worker publishes its cache events; `more` are further keys of the engine's.

    `host` is where it listens: on all of its addresses, unless something has to be told one of them.
    """
    if worker.kv_events is None or not registers(process):
        return []
    config: Mapping[str, Any] = {
        "publisher": worker.kv_events.publisher,
        "topic": worker.kv_events.topic,
        **more,
        "endpoint": f"tcp://{host}:{process.kv_events_port}",
    }
    return ["--kv-events-config", json.dumps(config, separators=(",", ":"))]
