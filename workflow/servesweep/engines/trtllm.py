"""`trtllm`: TensorRT-LLM under Dynamo or as `trtllm-serve`, its ranks started by MPI.

The role's arguments are the engine's own YAML file. Source of the flags: `dynamo.trtllm` of ai-dynamo, and
`trtllm-serve`, https://nvidia.github.io/TensorRT-LLM.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

import yaml

from servesweep.engines import numa
from servesweep.engines.dynamo_worker import dynamo_environment
from servesweep.engines.engine import Engine, WorkerSpec, argument
from servesweep.engines.flags import TOPOLOGY, owned, repeated
from servesweep.engines.sidecar import grpc_port, sidecar_words, together
from servesweep.engines.trtllm_options import TrtllmOptions, options_of
from servesweep.engines.vocabulary import NO_WORDS, sizes
from servesweep.recipe.dynamo import DynamoSection
from servesweep.recipe.not_yet import left_out
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment, step_name, uneven
from servesweep.topology.shapes import ProcessPlace, RoleShape

# GPUs whose nodes have two sockets of memory beside that of the GPUs themselves: srt-slurm binds prefill and
# decode to the former.
BOUND_GPUS = ("gb200", "gb300", "vrnvl72")
STATISTICS = ("enable_iter_perf_stats", "return_perf_metrics")
SIZES = ("tensor_parallel_size", "moe_expert_parallel_size", "pipeline_parallel_size")


class Dumper(yaml.CSafeDumper if yaml.__with_libyaml__ else yaml.SafeDumper):  # type: ignore[misc]
    """The fast emitter, for values of JSON: these share no part, and are of no further types."""

    def represent_data(self, data: Any) -> yaml.Node:
        """Without looking for what stands twice."""
        node: yaml.Node = self.yaml_representers[type(data)](self, data)
        return node

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a node, which is asked for twice a scalar: words repeat, and theirs are remembered."""
        if kind is yaml.ScalarNode:
            return _tag_of_scalar(kind, value, implicit)
        return super().resolve(kind, value, implicit)


_tag_of_scalar = lru_cache(maxsize=10_000)(yaml.resolver.Resolver().resolve)


class Trtllm(Engine):
    """One MPI launch a worker, a task a GPU; rank 0 serves."""

    name = "trtllm"
    Options = TrtllmOptions
    size_flag = "tensor_parallel_size"
    transports = frozenset({"dynamo", "http"})
    spans_nodes = True
    sidecars = True
    unprofiled_by = frozenset({"torch"})
    one_step = True
    exact_packing = True
    # Neither is a key of the engine's file: they belong to the launch around it.
    reserved = frozenset(
        {"host", "port", "model", "model-path", "disaggregation-mode", "request-plane", "extra-engine-args"}
    )
    reserved_extra = frozenset(
        {"host", "port", "config", "extra-llm-api-options", "extra-engine-args", "disaggregation-mode",
         "served-model-name", *(size.replace("_", "-") for size in SIZES)}
    )  # fmt: skip
    step_options: ClassVar[Mapping[str, str]] = {
        "mpi": "pmix", "oversubscribe": "", "cpu-bind": "verbose,none",
    }  # fmt: skip
    # What imports TensorRT-LLM looks for MPI, also with a single rank.
    frontend_step_options: ClassVar[Mapping[str, str]] = {"mpi": "pmix"}

    def gpus_of(self, args: Mapping[str, Any]) -> int | None:
        """The degrees of the engine's file; experts lie within the tensor's."""
        said = NO_WORDS.spelt_out(args)
        return sizes(said, "tensor-parallel-size", "pipeline-parallel-size", "context-parallel-size")

    def refusals(self, mode: str, args: Mapping[str, Any], options: Section) -> list[tuple[str, str]]:
        """Keys of its file, which may hold any values."""
        faults = [(f"args.{key}", TOPOLOGY) for key in owned(args, self.reserved)]
        faults += [(f"args.{key}", "the key is empty") for key in args if not key.strip()]
        return faults + [
            (f"args.{key}", f"this argument is given twice: {earlier} is the same one, so keep one")
            for key, earlier in repeated(args)
        ]

    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Render the launch of all ranks of a worker, and the engine's file."""
        dynamo = deployment.transport == "dynamo"
        name = f"trtllm_config_{process.mode}.yaml"
        config = f"{deployment.logs}/{name}"
        words = [*_numa(process.mode, worker, deployment), "trtllm-llmapi-launch"]
        if worker.sidecar is not None:
            words += _grpc(grpc_port(process, worker.sidecar, deployment), deployment, config)
        elif dynamo:
            words += _dynamo(process, worker, deployment, config)
        else:
            words += _serve(process, worker, deployment, config)
        files = {f"{deployment.binding.logs}/{name}": engine_file(worker)}
        if options_of(worker).numa_cpu_bind:
            memory = ["--membind"] if options_of(worker).numa_memory_bind == "local" else []
            words = ["bash", f"{deployment.logs}/{numa.NAME}", *memory, *words]
            files[f"{deployment.binding.logs}/{numa.NAME}"] = numa.script(deployment.visible_devices)
        if worker.sidecar is not None:
            words = _beside_sidecar(process, worker, worker.sidecar, deployment, words)
        return Command(
            argv=(*_own_devices(process, deployment), *words),
            env=_environment(process, worker, deployment),
            files=files,
        )

    def sidecar_refusals(
        self, shape: RoleShape, per_node: int, args: Mapping[str, Any], options: Section
    ) -> list[tuple[str, str]]:
        """Its gRPC server hands no KV cache over."""
        if shape.mode == "agg":
            return []
        return [("sidecar", "beside sidecars trtllm runs agg workers alone: remove it, or the roles")]

    def together(self, options: Section) -> int:
        """As the options say."""
        return options.sequential_node_start if isinstance(options, TrtllmOptions) else 0

    def environment(
        self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment
    ) -> dict[str, str]:
        """A name in shared memory that no other worker has, also not one of another run."""
        place = f"{deployment.binding.scratch}/{step_name(process)}"
        return {"TRTLLM_EPLB_SHM_NAME": f"moe_shared_{hashlib.sha256(place.encode()).hexdigest()[:32]}"}

    def served_model(self, args: Mapping[str, Any], options: Section | None = None) -> str | None:
        """The name of the options: the engine's file has none."""
        return options.served_model_name if isinstance(options, TrtllmOptions) else None

    def unsupported(self, options: Section) -> list[str]:
        """Starting the workers of a node one after another."""
        told = f"engine.sequential_node_start: {left_out(TrtllmOptions, 'sequential_node_start')}"
        return [told] if self.together(options) else []


def engine_file(worker: WorkerSpec) -> str:
    """The role's arguments as the engine's YAML file, with the statistics that a preset asks for."""
    return _yaml(worker.args_text, worker.observed)


@lru_cache(maxsize=64)
def _yaml(text: str, observed: bool) -> str:
    """JSON as YAML: the workers of a role share one file."""
    args = json.loads(text)
    if observed:
        args |= {name: True for name in STATISTICS if argument(args, name.replace("_", "-")) is None}
    return str(yaml.dump(args, Dumper=Dumper, sort_keys=False))


def _numa(mode: str, worker: WorkerSpec, deployment: Deployment) -> list[str]:
    bind = options_of(worker).numa_memory_bind
    if bind is None:
        bind = mode != "agg" and (deployment.gpu_type or "").lower() in BOUND_GPUS
    return ["numactl", "-m", "0,1"] if bind is True else []


def _dynamo(process: ProcessPlace, worker: WorkerSpec, deployment: Deployment, config: str) -> list[str]:
    words = ["python3", "-m", "dynamo.trtllm", "--model-path", deployment.model]
    words += ["--served-model-name", deployment.served_model]
    if process.mode != "agg":
        words += ["--disaggregation-mode", process.mode]
    words += ["--extra-engine-args", config, "--request-plane", deployment.request_plane]
    options = options_of(worker)
    events = options.publish_events_and_metrics
    if events or (events is None and worker.observed):
        return [*words, "--publish-events-and-metrics"]
    return [*words, "--publish-metrics"] if options.publish_metrics else words


def _grpc(port: int, deployment: Deployment, config: str) -> list[str]:
    """The engine's gRPC server, for the sidecar alone."""
    words = ["python3", "-m", "tensorrt_llm.commands.serve", deployment.model, "--grpc"]
    return [*words, "--host", "127.0.0.1", "--port", str(port), "--extra_llm_api_options", config]


def _beside_sidecar(
    process: ProcessPlace,
    worker: WorkerSpec,
    dynamo: DynamoSection,
    deployment: Deployment,
    engine: list[str],
) -> list[str]:
    """The launch of all ranks, the first of them with the sidecar."""
    port = grpc_port(process, dynamo, deployment)
    sidecar = [*sidecar_words("dynamo.trtllm", port, dynamo), "--model-path", deployment.model]
    length = dynamo.sidecar_context_length or argument(worker.args, "max-seq-len")
    sidecar += ["--context-length", str(length)] if length is not None else []
    return list(together(engine, sidecar, port, dynamo, first_rank=True))


def _serve(process: ProcessPlace, worker: WorkerSpec, deployment: Deployment, config: str) -> list[str]:
    words = ["trtllm-serve", deployment.model, "--host", "0.0.0.0", "--port", str(process.http_port)]
    for name in SIZES:
        size = argument(worker.args, name.replace("_", "-"))
        words += [f"--{name}", str(size)] if size is not None else []
    named = options_of(worker).served_model_name or deployment.served_model != _directory(deployment)
    words += ["--served_model_name", deployment.served_model] if named else []
    return [*words, "--config", config, *worker.extra_args]


def _directory(deployment: Deployment) -> str:
    """The name that a model has when the recipe gives it none."""
    return deployment.model_path.rstrip("/").rpartition("/")[2]


def _environment(process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> dict[str, str]:
    env = {}
    if uneven(deployment.ranks(process)):
        # Its first rank may stand on a later node of Slurm's list, where hooks of images look for it.
        leader = deployment.address(process.leader)
        env = {"MASTER_ADDR": leader, "MASTER_PORT": str(process.dist_init_port)}
    if options_of(worker).numa_cpu_bind:
        # TensorRT-LLM's own binding of threads would undo this one.
        env["TLLM_NUMA_AWARE_WORKER_AFFINITY"] = "0"
    if deployment.transport != "dynamo":
        return env
    # The plane is an argument of this worker.
    told = dynamo_environment(process, deployment).items()
    return env | {name: value for name, value in told if name != "DYN_REQUEST_PLANE"}


def _own_devices(process: ProcessPlace, deployment: Deployment) -> list[str]:
    """Where the ranks' nodes have different GPUs, each task takes those of its own node.

    A shell tells the task's node by its rank: the nodes of a worker are in the order of its ranks.
    """
    ranks = deployment.ranks(process)
    if not uneven(ranks):
        return []
    *first, last = ranks
    words, before = [f"gpus={_listed(last.gpus)}"], sum(len(rank.gpus) for rank in first)
    for rank in reversed(first):
        words.append(f'[ "$SLURM_PROCID" -lt {before} ] && gpus={_listed(rank.gpus)}')
        before -= len(rank.gpus)
    words += [f'export {deployment.visible_devices}="$gpus"', 'exec "$@"']
    return ["bash", "-c", "; ".join(words), "trtllm"]


def _listed(gpus: tuple[int, ...]) -> str:
    return ",".join(map(str, gpus))
