"""Engines of vLLM that stand by on a worker's GPUs, their weights in Dynamo's memory service.

Names, ports and files as in srt-slurm: https://github.com/NVIDIA/srt-slurm, `docs/shadow-engine-recovery.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from servesweep.engines.engine import WorkerSpec, argument
from servesweep.engines.flags import kebab, owned
from servesweep.engines.vllm_options import options_of
from servesweep.recipe.problems import shown
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Deployment
from servesweep.topology.ports import HIGHEST, MASTER
from servesweep.topology.shapes import ProcessPlace

REASONS = {
    "load-format": "loads weights from Dynamo's memory service alone",
    "gms-shadow-mode": "says this of every engine already",
    "data-parallel-size": "keeps engines for workers of one data-parallel rank",
}


HARMLESS = {"load-format": ("gms",), "data-parallel-size": (1, "1")}


def failover_refusals(args: Mapping[str, Any], options: Section) -> list[tuple[str, str]]:
    """Arguments that contradict the failover, as (key below the role, sentence)."""
    failover = options_of(options).failover
    if failover is None:
        return []
    highest = HIGHEST - MASTER.stride * failover.shadow_engines
    faults = [
        (f"args.{key}", f"expected a port from 1 to {highest}, got {shown(args[key])}")
        for key in owned(args, {"master-port"})
        if not (isinstance(args[key], int) and not isinstance(args[key], bool) and 1 <= args[key] <= highest)
    ]
    return faults + [
        (f"args.{key}", f"engine.failover {REASONS[kebab(key)]}: remove it")
        for key in owned(args, REASONS)
        if args[key] not in HARMLESS.get(kebab(key), ())
    ]


def sharing(process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> list[str]:
    """How an engine shares its weights with those that stand by; each has a port where its ranks meet."""
    if options_of(worker.options).failover is None:
        return []
    words = ["--load-format", "gms", "--gms-shadow-mode"]
    if len(process.worker_nodes) == 1:
        return words
    given = argument(worker.args, "master-port")
    port = deployment.port(process.leader, MASTER, process.engine)
    port = int(given) + MASTER.stride * process.engine if given else port
    return [*words, "--master-port", str(port)]


def failover_environment(process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> dict[str, str]:
    """The names by which Dynamo's engines on the same GPUs agree who serves: a directory of the worker's."""
    failover = options_of(worker.options).failover
    if failover is None:
        return {}
    owner = PurePath(deployment.binding.scratch).name
    directory = f"{failover.shared_dir}/{owner}/{process.mode}_{process.index}"
    return {
        "ENGINE_ID": str(process.engine),
        "GMS_SOCKET_DIR": directory,
        "FAILOVER_LOCK_PATH": f"{directory}/failover.lock",
        "DYN_VLLM_GMS_SHADOW_MODE": "true",
        "DYN_SYSTEM_STARTING_HEALTH_STATUS": "notready",
    }
