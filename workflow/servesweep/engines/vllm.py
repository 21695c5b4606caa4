"""`vllm`: vLLM under Dynamo or as its own HTTP server.

Source of the flags: vLLM's engine arguments, https://docs.vllm.ai, and `dynamo.vllm` of ai-dynamo.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, field_validator

from servesweep.engines.dynamo_worker import config_dump, dynamo_environment, kv_events
from servesweep.engines.engine import Engine, WorkerSpec, argument, without
from servesweep.engines.flags import flags
from servesweep.engines.kv_connectors import checked, transfer_config
from servesweep.engines.ray import ray_command
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment
from servesweep.topology.packing import vllm_colocates
from servesweep.topology.ports import DYNAMO_SYSTEM, KVBM
from servesweep.topology.processes import Parallelism
from servesweep.topology.shapes import ProcessPlace, RoleShape

RANKS = frozenset({"headless", "master-addr", "nnodes", "node-rank"})
OWN = RANKS | {"host", "port", "device-ids", "disaggregation-mode"}
REPLACED = ("model", "served-model-name", "connector", "kv-transfer-config")
# Of data parallelism the recipe says only the size: the rest follows from where the workers stand.
DATA_PARALLEL = (
    "data-parallel-size-local", "data-parallel-start-rank", "data-parallel-rank", "data-parallel-address",
    "data-parallel-rpc-port", "data-parallel-hybrid-lb",
)  # fmt: skip


class FailoverOptions(Section):
    """Standby engines on the GPUs of a worker."""

    shadow_engines: int = Field(default=1, ge=1, description="Standby engines of a worker.")
    shared_dir: str = Field(
        default="/dev/shm", pattern="^/.+", description="Directory on each node that its containers share."
    )


class VllmOptions(Section):
    """Engine-wide options of vLLM."""

    connector: str | None = Field(
        default="nixl",
        description="KV connector: nixl, lmcache, lmcache-mp, kvbm, mooncake, or its JSON; null for none.",
    )
    dp_launch_mode: Literal["per_node", "per_gpu"] = Field(
        default="per_node", description="One process a node, or (old) one a data-parallel rank."
    )
    set_visible_devices: bool = Field(
        default=False, description="Name the GPUs by the variable instead of --device-ids (older vLLM)."
    )
    allow_prefill_decode_colocation: bool = Field(
        default=False, description="Pack prefill and decode on one node when all workers fit there."
    )
    allow_prefill_decode_colocation_across_nodes: bool = Field(
        default=False, description="Pack them on as few nodes as hold them, with the option above."
    )
    failover: FailoverOptions | None = Field(
        default=None, description="Engines that take over where a worker's own dies, under Dynamo."
    )
    distributed: Literal["ray", "native"] = Field(
        default="ray",
        description="Replicas over several nodes: a Ray cluster, or vLLM's own --nnodes and --node-rank.",
    )
    vllm_serve_binary: str = Field(
        default="vllm", min_length=1, description="Program that serves a worker without Dynamo."
    )

    @field_validator("connector")
    @classmethod
    def _known_connector(cls, connector: str | None) -> str | None:
        return connector if connector is None else checked(connector)


class Vllm(Engine):
    """One process a node of a worker; the leader serves, or each node its own data-parallel ranks."""

    name = "vllm"
    Options = VllmOptions
    transports = frozenset({"dynamo", "http"})
    reserved = OWN
    rank_flags = RANKS
    spans_nodes = True

    def pins_devices(self, options: Section) -> bool:
        """By `--device-ids`, unless the vLLM is too old for it."""
        return not _options(options).set_visible_devices

    def parallelism(self, args: Mapping[str, Any], options: Section) -> Parallelism:
        """Read the sizes that the arguments give."""
        per_gpu = _options(options).dp_launch_mode == "per_gpu"
        data, tensor, pipeline = (
            _size(args, name)
            for name in ("data-parallel-size", "tensor-parallel-size", "pipeline-parallel-size")
        )
        return Parallelism(data, tensor, pipeline, per_gpu)

    def colocates(self, shapes: Sequence[RoleShape], gpus_per_node: int, options: Section) -> bool:
        """When the options allow it, and the workers are few enough."""
        own = _options(options)
        across = own.allow_prefill_decode_colocation_across_nodes
        return vllm_colocates(
            shapes, gpus_per_node, allow=own.allow_prefill_decode_colocation, across_nodes=across
        )

    def profiler_flags(self, start: int, stop: int) -> tuple[str, ...]:
        """The window as vLLM counts it."""
        window = {"profiler": "cuda", "delay_iterations": start, "max_iterations": stop - start}
        return ("--profiler-config", json.dumps(window, separators=(",", ":")))

    def unsupported(self, options: Section) -> list[str]:
        """Standby engines are not started."""
        return ["engine.failover: standby engines"] if _options(options).failover else []

    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Render one rank, or the data-parallel ranks of one node."""
        dynamo = deployment.transport == "dynamo"
        words = _dynamo(process, deployment) if dynamo else _serve(process, worker, deployment)
        if (transfer := _transfer(process.mode, worker, dynamo)) is not None:
            words += ["--kv-transfer-config", transfer]
        if self.pins_devices(worker.options):
            words += ["--device-ids", ",".join(map(str, process.gpus))]
        parallel = self.parallelism(worker.args, worker.options)
        words += _ranks(process, deployment, parallel)
        if dynamo:
            words += ["--request-plane", deployment.request_plane, *config_dump(process, deployment)]
        words += kv_events(process, worker, enable_kv_cache_events=True)
        own = without(worker.args, *REPLACED, *(DATA_PARALLEL if parallel.data > 1 else ()))
        if not dynamo and process.http_port is None:
            own = without(own, "api-server-count")
        env = dynamo_environment(process, deployment) if dynamo else {}
        return Command(argv=tuple(words + flags(own)), env=env)

    def environment(
        self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment
    ) -> dict[str, str]:
        """Its side channels, at addresses that the other workers reach.

        Ranks that span nodes meet at the leader's own choice of a port, which VLLM_PORT would disturb.
        """
        env = {
            "VLLM_NIXL_SIDE_CHANNEL_HOST": deployment.address(process.node),
            "VLLM_NIXL_SIDE_CHANNEL_PORT": str(process.nixl_port),
        }
        if deployment.transport == "dynamo" and process.kv_events_port is not None:
            env["DYN_VLLM_KV_EVENT_PORT"] = str(process.kv_events_port)
        if len(process.worker_nodes) == 1:
            env["VLLM_PORT"] = str(process.vllm_port)
        connector = _connector(worker, use_default=True)
        if connector == "mooncake" and process.mode == "prefill":
            env["VLLM_MOONCAKE_BOOTSTRAP_PORT"] = str(process.bootstrap_port)
        if connector == "kvbm":
            port = KVBM.base + KVBM.stride * (process.system_port - DYNAMO_SYSTEM.base)
            env["DYN_KVBM_LEADER_ZMQ_PUB_PORT"] = str(port)
            env["DYN_KVBM_LEADER_ZMQ_ACK_PORT"] = str(port + 1)
        return env

    def replica(
        self, process: ProcessPlace, args: tuple[str, ...], options: Section, deployment: Deployment
    ) -> Command:
        """Render one rank of a replica; over several nodes by Ray, or by vLLM's own start."""
        chosen = _options(options)
        serve = [chosen.vllm_serve_binary, "serve"]
        port = ["--port", str(deployment.ranks(process)[0].http_port)]
        if chosen.distributed == "ray" and len(deployment.ranks(process)) > 1:
            engine = [*serve, *port, "--distributed-executor-backend", "ray", *args]
            return Command(argv=ray_command(process, deployment, engine))
        own = _ranks(process, deployment, Parallelism())
        return Command(argv=(*serve, *([] if process.rank else port), *own, *args))


def _options(options: Section) -> VllmOptions:
    return options if isinstance(options, VllmOptions) else VllmOptions()


def _size(args: Mapping[str, Any], name: str) -> int:
    value = argument(args, name)
    number = 1 if value is None else int(value) if str(value).isdigit() else 0
    if number < 1 or isinstance(value, bool):
        raise ValueError(f"{name} is a whole number from 1, and this one is {value!r}")
    return number


def _dynamo(process: ProcessPlace, deployment: Deployment) -> list[str]:
    words = ["python3", "-m", "dynamo.vllm", "--model", deployment.model]
    words += ["--served-model-name", deployment.served_model]
    return words if process.mode == "agg" else [*words, "--disaggregation-mode", process.mode]


def _serve(process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> list[str]:
    words = [_options(worker.options).vllm_serve_binary, "serve", deployment.model]
    if process.http_port is not None:
        words += ["--host", "0.0.0.0", "--port", str(process.http_port)]
    return [*words, "--served-model-name", deployment.served_model]


def _connector(worker: WorkerSpec, *, use_default: bool) -> str | None:
    """The connector that is named: by the role's arguments, else by the engine's options."""
    named = argument(worker.args, "connector")
    default = _options(worker.options).connector if use_default else None
    return str(named) if named is not None else default


def _transfer(mode: str, worker: WorkerSpec, dynamo: bool) -> str | None:
    """A role's own JSON, else that of its connector; a server that stands alone needs none by default."""
    given = argument(worker.args, "kv-transfer-config")
    if given is not None:
        return given if isinstance(given, str) else json.dumps(given, separators=(",", ":"))
    connector = _connector(worker, use_default=dynamo or mode != "agg")
    return None if connector is None else transfer_config(connector, mode)


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
