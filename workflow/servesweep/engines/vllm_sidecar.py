"""vLLM's own server beside Dynamo's sidecar.

Source of the command lines: srt-slurm, https://github.com/NVIDIA/srt-slurm, `docs/sidecars.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.engines.dynamo_worker import dynamo_environment, kv_events
from servesweep.engines.engine import WorkerSpec, without
from servesweep.engines.flags import flags
from servesweep.engines.sidecar import grpc_port, sidecar_words, together
from servesweep.engines.vllm_names import served_names
from servesweep.engines.vllm_options import options_of, size
from servesweep.engines.vllm_transfer import transfer
from servesweep.recipe.dynamo import DynamoSection
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment, registers
from servesweep.topology.shapes import ProcessPlace

# The Rust server alone starts no ranks over nodes: there, Python starts it on each node that serves.
SINGLE = ("vllm-rs",)
SPANNING = ("env", "VLLM_USE_RUST_FRONTEND=1", "python3", "-m", "vllm.entrypoints.cli.main")
# Plugins of an image may replace types that the Rust server must read.
NO_PLUGINS = {"VLLM_PLUGINS": ""}
OWN = (
    "model", "served-model-name", "connector", "kv-transfer-config", "data-parallel-rpc-port",
    "data-parallel-hybrid-lb", "distributed-executor-backend", "master-port", "grpc",
)  # fmt: skip


def beside_sidecar(
    process: ProcessPlace, worker: WorkerSpec, dynamo: DynamoSection, deployment: Deployment
) -> Command:
    """Render one rank or the data-parallel ranks of one node; ranks that serve nobody have no sidecar."""
    port = grpc_port(process, dynamo, deployment)
    many = len(process.worker_nodes) > 1
    words = [*(SPANNING if many else SINGLE), "serve", deployment.model]
    words += served_names(worker.args, deployment)
    serves = registers(process)
    if serves:
        http = process.http_port or port + 1
        words += ["--host", "127.0.0.1", "--port", str(http), "--grpc-port", str(port)]
    words += _ranks(process, worker, deployment)
    if (config := transfer(process, worker, deployment)) is not None:
        words += ["--kv-transfer-config", config]
    host = deployment.address(process.node)
    words += kv_events(process, worker, host=host, enable_kv_cache_events=True)
    own = without(worker.args, *OWN, *(() if serves else ("api-server-count",)))
    env = {**dynamo_environment(process, deployment), **NO_PLUGINS}
    engine = [*words, *flags(own)]
    if not serves:
        return Command(argv=tuple(engine), env=env)
    sidecar = sidecar_words("dynamo.vllm", port, dynamo)
    sidecar += [] if process.mode == "agg" else ["--disaggregation-mode", process.mode]
    sidecar += ["--component", "prefill"] if process.mode == "prefill" else []
    return Command(argv=together(engine, sidecar, port, dynamo), env=env)


def sidecar_refusals(args: Mapping[str, Any], options: Section) -> list[tuple[str, str]]:
    """What vLLM cannot do beside a sidecar, as (key below the role, sentence)."""
    faults = []
    if options_of(options).dp_launch_mode == "per_gpu":
        faults.append(("sidecar", "beside sidecars vLLM runs a process a node: say dp_launch_mode: per_node"))
    named = {key.replace("_", "-"): key for key in args}
    for name, harmless in (("grpc", (False,)), ("data-parallel-external-lb", (False,)),
                           ("api-server-count", (1, "1"))):  # fmt: skip
        if name in named and args[named[name]] not in harmless:
            faults.append((f"args.{named[name]}", "beside a sidecar one Rust server answers: remove it"))
    return faults


def _ranks(process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> list[str]:
    """How the processes of a worker find each other."""
    leader, nodes = deployment.address(process.leader), process.worker_nodes
    data = size(worker.args, "data-parallel-size")
    if data > 1:
        words = ["--data-parallel-size-local", str(process.data_parallel_ranks)]
        words += ["--data-parallel-address", leader, "--data-parallel-rpc-port", str(process.dp_rpc_port)]
        if len(nodes) == 1:
            return words
        return [*words, "--data-parallel-start-rank", str(process.rank), "--data-parallel-hybrid-lb"]
    if len(nodes) == 1:
        return []
    words = ["--distributed-executor-backend", "mp", "--nnodes", str(len(nodes))]
    words += ["--node-rank", str(process.rank), "--master-addr", leader]
    words += ["--master-port", str(deployment.ranks(process)[0].vllm_port)]
    return [*words, *([] if process.is_leader else ["--headless"])]
