"""`atom`: ATOM's OpenAI server on AMD GPUs, behind AToMesh.

Source of the flags: ATOM, https://github.com/ROCm/ATOM, `atom/entrypoints/openai_server.py`, and srt-slurm,
https://github.com/NVIDIA/srt-slurm, `docs/engines.md`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from servesweep.engines.engine import Engine, WorkerSpec, argument, without
from servesweep.engines.flags import flags
from servesweep.engines.vocabulary import Vocabulary
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment
from servesweep.topology.ports import LMCACHE_SERVER
from servesweep.topology.shapes import ProcessPlace

EXTRA = "extra-kv-connectors"


class AtomOptions(Section):
    """Engine-wide options of ATOM."""

    connector: Literal["mooncake"] = Field(
        default="mooncake", description="How prefill hands the KV cache to decode."
    )
    mooncake_protocol: Literal["rdma", "tcp"] | None = Field(
        default=None, description="Transport of Mooncake; default: ATOM's own choice."
    )


class Atom(Engine):
    """One process a worker, on one node."""

    name = "atom"
    Options = AtomOptions
    transports = frozenset({"http"})
    reserved = frozenset({"model", "host", "server-port", "tp", "tensor-parallel-size", "kv-transfer-config"})
    vocabulary = Vocabulary(read=frozenset({"served-model-name", EXTRA}), shorts={"dp": "data-parallel-size"})

    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Render the server of one worker; its flags mix `-` and `_`, so they stay as they are written."""
        words = ["python3", "-m", "atom.entrypoints.openai_server", "--model", deployment.model]
        words += ["--served-model-name", deployment.served_model]
        words += ["--host", "0.0.0.0", "--server-port", str(process.http_port)]
        words += ["-tp", str(len(process.gpus))]
        if (config := _transfer(process, worker, deployment)) is not None:
            words += ["--kv-transfer-config", config]
        own = without(worker.args, EXTRA, "served-model-name")
        return Command(argv=(*words, *flags(own, spell=str)))

    def environment(
        self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment
    ) -> dict[str, str]:
        """The address by which the other workers reach it."""
        return {"ATOM_HOST_IP": deployment.address(process.node)}

    def refusals(self, mode: str, args: Mapping[str, Any], options: Section) -> list[tuple[str, str]]:
        """Further connectors are a list of mappings."""
        faults = super().refusals(mode, args, options)
        more = argument(args, EXTRA) or []
        if not isinstance(more, list) or not all(isinstance(one, dict) for one in more):
            key = next(key for key in args if key.replace("_", "-") == EXTRA)
            faults.append((f"args.{key}", "expected a list of connectors, each a mapping with kv_connector"))
        return faults


def _transfer(process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> str | None:
    """Mooncake between prefill and decode, and the role's further connectors; several are one `multi`."""
    connectors: list[dict[str, Any]] = []
    if process.mode != "agg":
        options = worker.options if isinstance(worker.options, AtomOptions) else AtomOptions()
        mooncake: dict[str, Any] = {
            "kv_role": "kv_producer" if process.mode == "prefill" else "kv_consumer",
            "kv_connector": options.connector,
            "proxy_ip": deployment.address(process.node),
            "handshake_port": process.nixl_port,
        }
        protocol = {"protocol": options.mooncake_protocol} if options.mooncake_protocol else {}
        connectors.append(mooncake | protocol)
    for one in argument(worker.args, EXTRA) or []:
        if one.get("kv_connector") == "lmcache_mp":
            # The server of this job on the worker's own node, unless another is named.
            port = deployment.port(process.node, LMCACHE_SERVER)
            told = {"lmcache.mp.port": port, **one.get("kv_connector_extra_config", {})}
            one = {**one, "kv_connector_extra_config": told}
        connectors.append(one)
    if not connectors:
        return None
    config = connectors[0] if len(connectors) == 1 else {"kv_connector": "multi", "connectors": connectors}
    return json.dumps(config, separators=(",", ":"))
