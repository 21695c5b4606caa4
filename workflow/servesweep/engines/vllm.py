"""`vllm`: vLLM under Dynamo or as its own HTTP server.

Source of the flags: vLLM's engine arguments, https://docs.vllm.ai, and `dynamo.vllm` of ai-dynamo.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from servesweep.engines.dynamo_worker import config_dump, dynamo_environment, kv_events
from servesweep.engines.engine import Engine, WorkerSpec
from servesweep.engines.flags import named as flag_names
from servesweep.engines.flags import owned
from servesweep.engines.kv_connectors import registers_workers, short_name
from servesweep.engines.mooncake import store_environment
from servesweep.engines.ray import ray_command
from servesweep.engines.vllm_failover import failover_environment, failover_refusals, sharing
from servesweep.engines.vllm_names import VOCABULARY, served_names
from servesweep.engines.vllm_options import VllmOptions, options_of, size
from servesweep.engines.vllm_sidecar import beside_sidecar, sidecar_refusals
from servesweep.engines.vllm_transfer import connector_faults, listeners, named, transfer
from servesweep.engines.vocabulary import sizes
from servesweep.recipe.not_yet import left_out
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment
from servesweep.topology.packing import vllm_colocates
from servesweep.topology.ports import KVBM, RAY
from servesweep.topology.processes import Parallelism
from servesweep.topology.shapes import ProcessPlace, RoleShape

RANKS = frozenset({"headless", "master-addr", "nnodes", "node-rank"})
OWN = RANKS | {
    "host", "port", "grpc-port", "device-ids", "disaggregation-mode", "is-prefill-worker", "is-decode-worker",
    "data-parallel-size-local", "data-parallel-start-rank", "data-parallel-rank", "data-parallel-address",
    "request-plane", "dump-config-to",
}  # fmt: skip
REPLACED = ("model", "served-model-name", "connector", "kv-transfer-config")
# Of data parallelism the recipe says only the size: the rest follows from where the workers stand.
DATA_PARALLEL = ("data-parallel-rpc-port", "data-parallel-hybrid-lb")


class Vllm(Engine):
    """One process a node of a worker; the leader serves, or each node its own data-parallel ranks."""

    name = "vllm"
    Options = VllmOptions
    size_flag = "tensor-parallel-size"
    transports = frozenset({"dynamo", "http"})
    reserved = OWN
    rank_flags = RANKS
    vocabulary = VOCABULARY
    model_flags = frozenset({"model"})
    several_names = True
    sidecars = True
    spans_nodes = True

    def pins_devices(self, options: Section) -> bool:
        """By `--device-ids`, unless the vLLM is too old for it."""
        own = options_of(options)
        # Engines that share a worker's GPUs must count them in the same way.
        return not own.set_visible_devices and own.failover is None

    def standbys(self, options: Section) -> int:
        """Those of the failover."""
        failover = options_of(options).failover
        return failover.shadow_engines if failover else 0

    def registers(self, args: Mapping[str, Any], options: Section) -> bool:
        """With a connector whose workers do."""
        return registers_workers(named(args, options))

    def connector(self, args: Mapping[str, Any], options: Section) -> str | None:
        """As it is named, also where its class is."""
        return short_name(named(args, options))

    def refusals(self, mode: str, args: Mapping[str, Any], options: Section) -> list[tuple[str, str]]:
        """Refuse what a connector or the failover decides by itself."""
        faults = super().refusals(mode, args, options) + connector_faults(args)
        if self.registers(args, options):
            faults += [
                (f"args.{key}", "the connector moriio needs the place of each worker: remove this key")
                for key in owned(args, {"kv-transfer-config"})
            ]
        return faults + failover_refusals(args, options)

    def sidecar_refusals(
        self, shape: RoleShape, per_node: int, args: Mapping[str, Any], options: Section
    ) -> list[tuple[str, str]]:
        """Beside sidecars a worker has either data-parallel ranks or ranks over several nodes."""
        faults = sidecar_refusals(args, options)
        parallel = self.parallelism(args, options)
        if parallel.data > 1 and parallel.shard > min(shape.gpus, per_node):
            message = "beside sidecars a rank over several nodes is a worker of its own: remove the size"
            faults += [(f"args.{key}", message) for key in owned(args, {"data-parallel-size"})]
        return faults

    def parallelism(self, args: Mapping[str, Any], options: Section) -> Parallelism:
        """Read the sizes that the arguments give."""
        per_gpu = options_of(options).dp_launch_mode == "per_gpu"
        data, tensor, pipeline = (
            size(args, name)
            for name in ("data-parallel-size", "tensor-parallel-size", "pipeline-parallel-size")
        )
        return Parallelism(data, tensor, pipeline, per_gpu)

    def colocates(self, shapes: Sequence[RoleShape], gpus_per_node: int, options: Section) -> bool:
        """When the options allow it, and the workers are few enough."""
        own = options_of(options)
        across = own.allow_prefill_decode_colocation_across_nodes
        return vllm_colocates(
            shapes, gpus_per_node, allow=own.allow_prefill_decode_colocation, across_nodes=across
        )

    def gpus_of(self, args: Mapping[str, Any]) -> int | None:
        """The degrees within a rank; data parallelism is checked where its ranks are placed."""
        said = VOCABULARY.spelt_out(args)
        if str(said.get("data-parallel-size") or 1) != "1":
            return None
        context = "prefill-context-parallel-size"
        return sizes(said, "tensor-parallel-size", "pipeline-parallel-size", context)

    def profiler_flags(self, start: int, stop: int) -> tuple[str, ...]:
        """The window as vLLM counts it."""
        window = {"profiler": "cuda", "delay_iterations": start, "max_iterations": stop - start}
        return ("--profiler-config", json.dumps(window, separators=(",", ":")))

    def notes(self, mode: str, args: Mapping[str, Any], options: Section) -> list[str]:
        """Arguments that recipes repeat, and that follow from where the ranks stand."""
        notes = super().notes(mode, args, options)
        if size(args, "data-parallel-size") == 1:
            return notes
        return notes + [
            f"roles.{mode}.args.{name} is not used: servesweep sets it from the topology"
            for name in owned(args, DATA_PARALLEL)
        ]

    def unsupported(self, options: Section) -> list[str]:
        """Standby engines are not started."""
        told = f"engine.failover: {left_out(VllmOptions, 'failover')}"
        return [told] if options_of(options).failover else []

    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Render one rank, or the data-parallel ranks of one node."""
        if worker.sidecar is not None:
            return beside_sidecar(process, worker, worker.sidecar, deployment)
        dynamo = deployment.transport == "dynamo"
        words = _dynamo(process, worker, deployment) if dynamo else _serve(process, worker, deployment)
        if (config := transfer(process, worker, deployment)) is not None:
            words += ["--kv-transfer-config", config]
        if self.pins_devices(worker.options):
            words += ["--device-ids", ",".join(map(str, process.gpus))]
        parallel = self.parallelism(worker.args, worker.options)
        words += _ranks(process, deployment, parallel)
        words += sharing(process, worker, deployment)
        if dynamo:
            words += ["--request-plane", deployment.request_plane, *config_dump(process, deployment)]
        words += kv_events(process, worker, enable_kv_cache_events=True)
        mine = (*REPLACED, *(DATA_PARALLEL if parallel.data > 1 else ()))
        mine = (*mine, "load-format", "master-port") if options_of(worker.options).failover else mine
        if not dynamo and process.http_port is None:
            mine = (*mine, "api-server-count")
        env = dynamo_environment(process, deployment) if dynamo else {}
        return Command(argv=(*words, *worker.flags_without(*mine)), env=env)

    def environment(
        self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment
    ) -> dict[str, str]:
        """Its side channels, at addresses that the other workers reach.

        Ranks that span nodes meet at the leader's own choice of a port, which VLLM_PORT would disturb.
        """
        env = store_environment(worker.options) | failover_environment(process, worker, deployment)
        connector = named(worker.args, worker.options)
        if deployment.transport == "dynamo" and process.kv_events_port is not None:
            env["DYN_VLLM_KV_EVENT_PORT"] = str(process.kv_events_port)
        if registers_workers(connector):
            # Its listeners stand in its configuration, and its further ones take ports of the kernel's.
            return env
        env["VLLM_NIXL_SIDE_CHANNEL_HOST"] = deployment.address(process.node)
        env["VLLM_NIXL_SIDE_CHANNEL_PORT"] = str(process.nixl_port)
        if len(process.worker_nodes) == 1:
            env["VLLM_PORT"] = str(process.vllm_port)
        if connector == "mooncake" and process.mode == "prefill":
            env["VLLM_MOONCAKE_BOOTSTRAP_PORT"] = str(process.bootstrap_port)
        if connector == "kvbm":
            port = deployment.port(process.node, KVBM, deployment.process_number(process))
            env["DYN_KVBM_LEADER_ZMQ_PUB_PORT"] = str(port)
            env["DYN_KVBM_LEADER_ZMQ_ACK_PORT"] = str(port + 1)
        return env

    def further_ports(
        self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment, *, replica: bool
    ) -> list[tuple[int, int]]:
        """Those of its connector, and of the Ray cluster of a replica over several nodes."""
        found = super().further_ports(process, worker, deployment, replica=replica)
        if replica and options_of(worker.options).distributed == "ray" and process.is_leader:
            return [*found, (RAY, 1)] if len(deployment.ranks(process)) > 1 else found
        connector = named(worker.args, worker.options)
        if connector == "kvbm" and not replica:
            number = deployment.process_number(process)
            found.append((deployment.port(process.node, KVBM, number), KVBM.stride))
        if registers_workers(connector) and not replica:
            found += listeners(process, deployment)
        return found

    def replica(
        self, process: ProcessPlace, args: tuple[str, ...], options: Section, deployment: Deployment
    ) -> Command:
        """Render one rank of a replica; over several nodes by Ray, or by vLLM's own start."""
        chosen = options_of(options)
        serve = [chosen.vllm_serve_binary, "serve"]
        if args and not args[0].startswith("-"):
            serve, args = [*serve, args[0]], args[1:]
        elif not owned(flag_names(args), {"model"}):
            serve = [*serve, deployment.model]
        port = ["--port", str(deployment.ranks(process)[0].http_port)]
        if chosen.distributed == "ray" and len(deployment.ranks(process)) > 1:
            engine = [*serve, *port, "--distributed-executor-backend", "ray", *args]
            return ray_command(process, deployment, engine)
        own = _ranks(process, deployment, Parallelism())
        return Command(argv=(*serve, *([] if process.rank else port), *own, *args))


def _dynamo(process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> list[str]:
    words = ["python3", "-m", "dynamo.vllm", "--model", deployment.model]
    words += served_names(worker.args, deployment)
    return words if process.mode == "agg" else [*words, "--disaggregation-mode", process.mode]


def _serve(process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> list[str]:
    words = [options_of(worker.options).vllm_serve_binary, "serve", deployment.model]
    if process.http_port is not None:
        words += ["--host", "0.0.0.0", "--port", str(process.http_port)]
    return [*words, *served_names(worker.args, deployment)]


def _ranks(process: ProcessPlace, deployment: Deployment, parallel: Parallelism) -> list[str]:
    """How the processes of a worker find each other, and which part this one has."""
    leader = deployment.address(process.leader)
    meeting = ["--data-parallel-address", leader, "--data-parallel-rpc-port", str(process.dp_rpc_port)]
    local = len(process.gpus) // parallel.shard
    if parallel.data > 1 and parallel.per_gpu:
        return ["--data-parallel-rank", str(process.rank), *meeting]
    if parallel.data > 1 and local:
        words = ["--data-parallel-size-local", str(local), "--data-parallel-start-rank", str(process.rank)]
        return [*words, *meeting, "--data-parallel-hybrid-lb"]
    nodes = process.worker_nodes
    if len(nodes) == 1:
        return []
    words = ["--master-addr", leader, "--nnodes", str(len(nodes)), "--node-rank", str(process.rank)]
    words += meeting if parallel.data > 1 else []
    return [*words, *(["--headless"] if process.rank else [])]
