"""What a benchmark type is: a list of load points, and the command that measures one."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import field
from typing import Any, ClassVar

from servesweep.benchmarks.shared_options import OF_AIPERF
from servesweep.recipe.section import Section, said
from servesweep.topology.deployment import Command, Deployment, rendered


@rendered
class Load:
    """One load level of a configuration."""

    id: str
    """File-name safe and unique within the configuration, such as c16."""
    concurrency: int | None = None
    """Requests in flight at most."""
    request_rate: float | str | None = None
    """Requests per second, or "inf"."""
    repeat: int = 0
    """Number of the repetition, from 0."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Whatever else decides the numbers."""


@rendered
class BenchmarkContext:
    """What the command of a point must know beside its load."""

    configuration: str
    """Id of the configuration."""
    digest: str
    """Digest of the point, carried into its result."""
    url: str | None
    """Public API; None where nothing is public."""
    deployment: Deployment
    """The running deployment."""
    tokenizer: str | None = None
    """Model directory with a tokenizer.json."""
    directory: str
    """Directory of the point."""
    output: str
    """The result file to write when the point is valid."""
    environment: dict[str, str] = field(default_factory=dict)
    """The recipe's environment."""


class Benchmark(ABC):
    """One benchmark type."""

    name: ClassVar[str]
    Options: ClassVar[type[Section]]
    client: ClassVar[str] = "servesweep's own client"
    """Who sends the requests, for the reference page."""
    needs_public: ClassVar[bool] = True
    runs: ClassVar[bool] = True
    """Whether this version has a client for it."""

    @abstractmethod
    def loads(self, options: Section) -> list[Load]:
        """The points, in the order in which they are measured; none where nothing is measured."""

    def unsupported(self, options: Section) -> list[str]:
        """What the options ask that no client of this version does, as `key: what`."""
        return []

    def files(self, options: Section) -> list[str]:
        """Files whose content decides the numbers: a changed one makes another configuration."""
        return list(self.named_files(options).values())

    def named_files(self, options: Section) -> dict[str, str]:
        """The same by the key that names each; none of them may be missing."""
        return {}

    def packages(self, options: Section) -> dict[str, str]:
        """Python packages that the client needs, by the key that asks for each; none may be missing."""
        return {}

    def unread(self, options: Section) -> dict[str, str]:
        """Keys that are said and change nothing here, each with the reason."""
        return dict.fromkeys(said(options, OF_AIPERF), "the client is not aiperf")

    @abstractmethod
    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """Render the client of one point.

        The command writes `context.output` and ends with 0 when the point is valid; otherwise it writes
        `invalid.json` beside it and ends with another code.
        """


def frontend_environment(context: BenchmarkContext) -> dict[str, str]:
    """Variables by which a user's own client finds the deployment, as srt-slurm names and writes them.

    An endpoint is `address:port`: of a worker that Dynamo reaches its system port, which has its health and
    its metrics, else its HTTP port.
    """
    deployment = context.deployment
    env: dict[str, str] = {}
    if context.url is not None:
        host, _, port = context.url.removeprefix("http://").rpartition(":")
        env |= {"SRT_FRONTEND_HOST": host, "SRT_FRONTEND_PORT": port}
    spots: list[str] = []
    for mode in ("prefill", "decode", "agg"):
        leaders = deployment.leaders(mode)
        if leaders:
            ips = [deployment.address(leader.node) for leader in leaders]
            ports = [p.system_port if deployment.transport == "dynamo" else p.http_port for p in leaders]
            endpoints = [f"{ip}:{port}" for ip, port in zip(ips, ports, strict=True)]
            env[f"SRT_{mode.upper()}_IPS"] = ",".join(ips)
            env[f"SRT_{mode.upper()}_ENDPOINTS"] = ",".join(endpoints)
            spots += endpoints
    if spots:
        env["AIPERF_SERVER_METRICS_URLS"] = ",".join(f"http://{spot}/metrics" for spot in spots)
    return {
        **env,
        **context.environment,
        **services_environment(deployment),
        "SRT_GPUS_PER_NODE": str(deployment.gpus_per_node),
        "SRT_WORKER_NODES": ",".join(map(deployment.binding.host, deployment.worker_nodes)),
        "SERVESWEEP_MODEL": deployment.served_model,
    }


def service_prefix(name: str) -> str:
    """How the variables that tell of a service begin."""
    return "SRT_SERVICE_" + re.sub(r"[^A-Z0-9]", "_", name.upper())


def services_environment(deployment: Deployment) -> dict[str, str]:
    """Where the instances of each service stand, the first one first; names as in srt-slurm."""
    env = {}
    for name, nodes in deployment.services.items():
        prefix = service_prefix(name)
        env[f"{prefix}_NODES"] = ",".join(map(deployment.binding.host, nodes))
        env[f"{prefix}_IPS"] = ",".join(map(deployment.address, nodes))
        env[f"{prefix}_NODE_COUNT"] = str(len(nodes))
    return env
