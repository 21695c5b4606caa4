"""`sglang`: SGLang under Dynamo or as its own HTTP server.

Source of the flags: SGLang's server arguments, https://docs.sglang.io, and `dynamo.sglang` of ai-dynamo.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import Field

from servesweep.engines.dynamo_worker import config_dump, dynamo_environment, kv_events
from servesweep.engines.engine import Engine, WorkerSpec, argument
from servesweep.engines.mooncake import MooncakeStore, store_environment
from servesweep.engines.sidecar import grpc_port, sidecar_words, together
from servesweep.engines.vocabulary import Vocabulary, sizes, unless_named
from servesweep.recipe.dynamo import DynamoSection
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment, Probe
from servesweep.topology.shapes import ProcessPlace

# SGLang takes the second by its older name too.
RANKS = frozenset({"dist-init-addr", "nccl-init-addr", "nnodes", "node-rank"})
OWN = RANKS | {
    "host", "port", "nccl-port", "grpc-port", "disaggregation-mode", "disaggregation-bootstrap-port",
    "request-plane", "dump-config-to",
}  # fmt: skip
REPLACED = ("model-path", "model", "served-model-name")
SIZES = {"tp": "tensor", "dp": "data", "pp": "pipeline", "ep": "expert"}
VOCABULARY = Vocabulary(
    read=frozenset(
        {"model-path", "served-model-name", "enable-dp-attention", "kv-events-config", "grpc-mode",
         "disaggregation-transfer-backend", "incremental-streaming-output",
         *(f"{size}-parallel-size" for size in SIZES.values())}
    ),
    # `--tp` is itself an abbreviation, and what everybody writes.
    aliases={"model": "model-path"}
    | {name + end: f"{size}-parallel-size" for name, size in SIZES.items() for end in ("", "-size")},
)  # fmt: skip


class SglangOptions(Section):
    """Engine-wide options of SGLang."""

    mooncake_kv_store: MooncakeStore | None = Field(
        default=None, description="A Mooncake store whose master is started with the job."
    )


class Sglang(Engine):
    """One process a node of a worker; the leader serves."""

    name = "sglang"
    Options = SglangOptions
    store_by_transfer = True
    size_flag = "tensor-parallel-size"
    transports = frozenset({"dynamo", "http"})
    reserved = OWN
    rank_flags = RANKS
    vocabulary = VOCABULARY
    model_flags = frozenset({"model-path"})
    sidecars = True
    spans_nodes = True

    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Render one rank."""
        dynamo, sidecar = deployment.transport == "dynamo", worker.sidecar
        module = "sglang.launch_server" if sidecar or not dynamo else "dynamo.sglang"
        words = ["python3", "-m", module]
        words += ["--model-path", deployment.model, "--served-model-name", deployment.served_model]
        words += ["--host", "0.0.0.0", "--port", str(process.http_port or 0)]
        words += ["--nccl-port", str(process.nccl_port)]
        if process.mode != "agg":
            words += ["--disaggregation-mode", process.mode]
        if process.mode == "prefill":
            words += ["--disaggregation-bootstrap-port", str(process.bootstrap_port)]
        words += _ranks(process, deployment)
        if dynamo and not sidecar:
            words += config_dump(process, deployment)
            words += ["--request-plane", deployment.request_plane]
        words += kv_events(process, worker)
        env = dynamo_environment(process, deployment) if dynamo else {}
        own = worker.flags_without(*REPLACED)
        if sidecar is not None:
            return _beside_sidecar(process, worker, sidecar, deployment, [*words, *own], env)
        return Command(argv=(*words, *own), env=env)

    def environment(
        self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment
    ) -> dict[str, str]:
        """That of its store."""
        return store_environment(worker.options)

    def scheme(self, args: Mapping[str, Any]) -> str:
        """`grpc-mode` workers are reached by gRPC."""
        return "grpc" if argument(args, "grpc-mode") is True else "http"

    def probe(self, process: ProcessPlace, options: Section, deployment: Deployment) -> Probe | None:
        """A gRPC worker answers no HTTP: its port is tried."""
        probe = super().probe(process, options, deployment)
        if probe is None or deployment.transport == "dynamo":
            return probe
        grpc = deployment.schemes.get(process.mode) == "grpc"
        return replace(probe, kind="tcp") if grpc else probe

    def replica_words(self, args: tuple[str, ...], deployment: Deployment) -> tuple[str, ...]:
        """SGLang's default address is 127.0.0.1, where no other node finds it."""
        words = {
            "model-path": deployment.model,
            "served-model-name": deployment.served_model,
            "host": "0.0.0.0",
        }
        return unless_named(args, words, VOCABULARY)

    def gpus_of(self, args: Mapping[str, Any]) -> int | None:
        """All degrees; data parallelism of the attention alone lies within the tensor's."""
        said = VOCABULARY.spelt_out(args)
        within = said.get("enable-dp-attention") not in (None, False)
        data = () if within else ("data-parallel-size",)
        return sizes(said, "tensor-parallel-size", "pipeline-parallel-size", *data)

    def replica(
        self, process: ProcessPlace, args: tuple[str, ...], options: Section, deployment: Deployment
    ) -> Command:
        """Render one rank of a replica: the port, and the ranks where it spans nodes."""
        port = deployment.ranks(process)[0].http_port
        words = ["python3", "-m", "sglang.launch_server", "--port", str(port)]
        return Command(argv=(*words, *_ranks(process, deployment), *args))


def _beside_sidecar(
    process: ProcessPlace,
    worker: WorkerSpec,
    dynamo: DynamoSection,
    deployment: Deployment,
    engine: list[str],
    env: dict[str, str],
) -> Command:
    """The server with the sidecar that registers it; further ranks of a worker are known through its leader.

    The sidecar reads what is new in each answer, and images have the server's extension built in.
    """
    env = {**env, "SGLANG_RUST_BUILD_MODE": "never"}
    if argument(worker.args, "incremental-streaming-output") is None:
        engine = [*engine, "--incremental-streaming-output"]
    if not process.is_leader:
        return Command(argv=tuple(engine), env=env)
    port = grpc_port(process, dynamo, deployment)
    sidecar = sidecar_words("dynamo.sglang", port, dynamo)
    if process.mode == "prefill":
        sidecar += ["--bootstrap-host", deployment.address(process.node)]
    return Command(argv=together([*engine, "--grpc-port", str(port)], sidecar, port, dynamo), env=env)


def _ranks(process: ProcessPlace, deployment: Deployment) -> list[str]:
    ranks = deployment.ranks(process)
    if len(ranks) == 1:
        return []
    init = f"{deployment.address(process.leader)}:{process.dist_init_port}"
    return ["--dist-init-addr", init, "--nnodes", str(len(ranks)), "--node-rank", str(process.rank)]
