"""`sglang`: SGLang under Dynamo or as its own HTTP server.

Source of the flags: SGLang's server arguments, https://docs.sglang.io, and `dynamo.sglang` of ai-dynamo.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.engines.dynamo_worker import config_dump, dynamo_environment, kv_events
from servesweep.engines.engine import Engine, WorkerSpec, argument, without
from servesweep.engines.flags import flags
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment, Probe
from servesweep.topology.shapes import ProcessPlace

RANKS = frozenset({"dist-init-addr", "nnodes", "node-rank"})
OWN = RANKS | {"host", "port", "nccl-port", "disaggregation-mode", "disaggregation-bootstrap-port"}
REPLACED = ("model-path", "served-model-name")


class Sglang(Engine):
    """One process a node of a worker; the leader serves."""

    name = "sglang"
    transports = frozenset({"dynamo", "http"})
    reserved = OWN
    rank_flags = RANKS
    spans_nodes = True

    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Render one rank."""
        dynamo = deployment.transport == "dynamo"
        words = ["python3", "-m", "dynamo.sglang" if dynamo else "sglang.launch_server"]
        words += ["--model-path", deployment.model, "--served-model-name", deployment.served_model]
        words += ["--host", "0.0.0.0", "--port", str(process.http_port or 0)]
        words += ["--nccl-port", str(process.nccl_port)]
        if process.mode != "agg":
            words += ["--disaggregation-mode", process.mode]
        if process.mode == "prefill":
            words += ["--disaggregation-bootstrap-port", str(process.bootstrap_port)]
        words += _ranks(process, deployment)
        if dynamo:
            words += config_dump(process, deployment)
            words += ["--request-plane", deployment.request_plane]
        words += kv_events(process, worker)
        env = dynamo_environment(process, deployment) if dynamo else {}
        return Command(argv=tuple(words + flags(without(worker.args, *REPLACED))), env=env)

    def scheme(self, args: Mapping[str, Any]) -> str:
        """`grpc-mode` workers are reached by gRPC."""
        return "grpc" if argument(args, "grpc-mode") is True else "http"

    def probe(self, process: ProcessPlace, options: Section, deployment: Deployment) -> Probe | None:
        """A gRPC worker answers no HTTP: its port is tried."""
        probe = super().probe(process, options, deployment)
        if probe is None or deployment.transport == "dynamo":
            return probe
        grpc = deployment.schemes.get(process.mode) == "grpc"
        return probe.model_copy(update={"kind": "tcp"}) if grpc else probe

    def replica_notes(self, args: tuple[str, ...]) -> list[str]:
        """SGLang's default address is 127.0.0.1, where no other node finds it."""
        if any(word == "--host" or word.startswith("--host=") for word in args):
            return []
        return ["SGLang listens on 127.0.0.1 unless framework_args say --host 0.0.0.0"]

    def replica(
        self, process: ProcessPlace, args: tuple[str, ...], options: Section, deployment: Deployment
    ) -> Command:
        """Render one rank of a replica: the port, and the ranks where it spans nodes."""
        port = deployment.ranks(process)[0].http_port
        words = ["python3", "-m", "sglang.launch_server", "--port", str(port)]
        return Command(argv=(*words, *_ranks(process, deployment), *args))


def _ranks(process: ProcessPlace, deployment: Deployment) -> list[str]:
    ranks = deployment.ranks(process)
    if len(ranks) == 1:
        return []
    init = f"{deployment.address(process.leader)}:{process.dist_init_port}"
    return ["--dist-init-addr", init, "--nnodes", str(len(ranks)), "--node-rank", str(process.rank)]
