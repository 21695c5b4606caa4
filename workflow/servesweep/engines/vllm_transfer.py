"""How vLLM's workers hand over their KV cache: the value of `--kv-transfer-config`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from servesweep.engines.engine import WorkerSpec, argument
from servesweep.engines.flags import kebab, owned
from servesweep.engines.kv_connectors import checked, registers_workers, transfer_config
from servesweep.engines.vllm_options import options_of
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Deployment
from servesweep.topology.ports import LMCACHE_SERVER, MORIIO_HANDSHAKE, MORIIO_NOTIFY, VLLM_DISCOVERY
from servesweep.topology.shapes import ProcessPlace


def named(args: Mapping[str, Any], options: Section) -> str | None:
    """The connector that is named: by the role's arguments, else by the engine's options."""
    named = argument(args, "connector")
    return str(named) if named is not None else options_of(options).connector


def connector_faults(args: Mapping[str, Any]) -> list[tuple[str, str]]:
    """An unknown connector, and the configuration of one in pieces: servesweep writes that flag whole."""
    whole = "write kv-transfer-config as one mapping: servesweep gives this flag itself"
    faults = [(f"args.{key}", whole) for key in args if kebab(key).startswith("kv-transfer-config.")]
    for key in owned(args, {"connector"}):
        try:
            checked(str(args[key]) if args[key] is not None else "none")
        except ValueError as error:
            faults.append((f"args.{key}", str(error)))
    return faults


def transfer(process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> str | None:
    """A role's own JSON, else that of its connector; a server that stands alone needs none by default."""
    given = argument(worker.args, "kv-transfer-config")
    if given is not None:
        return given if isinstance(given, str) else json.dumps(given, separators=(",", ":"))
    alone = deployment.transport != "dynamo" and process.mode == "agg"
    if alone and argument(worker.args, "connector") is None:
        return None
    connector = named(worker.args, worker.options)
    if connector is None:
        return None
    place = _place(process, deployment) if registers_workers(connector) else None
    lmcache = deployment.port(process.node, LMCACHE_SERVER)
    return transfer_config(connector, process.mode, place, lmcache)


def listeners(process: ProcessPlace, deployment: Deployment) -> list[tuple[int, int]]:
    """MoRI-IO's ports of a process, as (first, how many): one for each of its GPUs."""
    before = 0
    for earlier in deployment.processes:
        if earlier == process:
            break
        before += len(earlier.gpus)
    blocks = (MORIIO_HANDSHAKE, MORIIO_NOTIFY)
    return [(deployment.port(process.node, block, before), len(process.gpus)) for block in blocks]


def _place(process: ProcessPlace, deployment: Deployment) -> dict[str, Any]:
    """What MoRI-IO's workers tell their router of themselves, and where.

    Source of the keys: vLLM, `kv_connector/v1/moriio/moriio_common.py`, which reads numbers as text.
    """
    (handshake, _), (notify, _) = listeners(process, deployment)
    return {
        "proxy_ip": deployment.address(deployment.frontend),
        "proxy_ping_port": str(deployment.port(deployment.frontend, VLLM_DISCOVERY)),
        "http_port": str(process.http_port),
        "host_ip": deployment.address(process.node),
        "handshake_port": str(handshake),
        "notify_port": str(notify),
        "read_mode": True,
    }
