"""`vllm`: vLLM under Dynamo or as its own HTTP server.

Source of the flags: vLLM's engine arguments, https://docs.vllm.ai, and `dynamo.vllm` of ai-dynamo.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from servesweep.engines.engine import Engine, dynamo_environment
from servesweep.engines.flags import flags
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment, step_name
from servesweep.topology.shapes import ProcessPlace

NIXL = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}
RANKS = frozenset({"headless", "master-addr", "nnodes", "node-rank"})
OWN = RANKS | {"host", "port", "device-ids", "disaggregation-mode"}
REPLACED = ("model", "served-model-name")


class VllmOptions(Section):
    """Engine-wide options of vLLM."""

    connector: Literal["nixl"] | None = Field(
        default="nixl", description="KV connector between prefill and decode; null leaves it to args."
    )


class Vllm(Engine):
    """One process a node of a worker; only the leader serves."""

    name = "vllm"
    Options = VllmOptions
    transports = frozenset({"dynamo", "http"})
    reserved = OWN
    rank_flags = RANKS
    spans_nodes = True
    pins_devices = True

    def command(
        self, process: ProcessPlace, args: Mapping[str, Any], options: Section, deployment: Deployment
    ) -> Command:
        """Render one rank."""
        assert isinstance(options, VllmOptions)
        dynamo = deployment.transport == "dynamo"
        words = (
            ["python3", "-m", "dynamo.vllm", "--model", deployment.model_path]
            if dynamo
            else _serve(process, deployment)
        )
        words += ["--served-model-name", deployment.served_model]
        if dynamo and process.mode != "agg":
            words += ["--disaggregation-mode", process.mode]
        if process.mode != "agg" and options.connector == "nixl":
            words += ["--kv-transfer-config", json.dumps(NIXL, separators=(",", ":"))]
        words += ["--device-ids", ",".join(map(str, process.gpus))]
        words += _ranks(process, deployment)
        if dynamo:
            words += [
                "--request-plane",
                "tcp",
                "--dump-config-to",
                f"{deployment.binding.logs}/{step_name(process)}_config.json",
            ]
        own = {name: value for name, value in args.items() if name.replace("_", "-") not in REPLACED}
        side_channel = {
            "VLLM_NIXL_SIDE_CHANNEL_HOST": deployment.address(process.node),
            "VLLM_NIXL_SIDE_CHANNEL_PORT": str(process.nixl_port),
        }
        env = dynamo_environment(process, deployment) if dynamo else {}
        return Command(argv=tuple(words + flags(own)), env={**env, **side_channel})

    def replica(
        self, process: ProcessPlace, args: tuple[str, ...], options: Section, deployment: Deployment
    ) -> Command:
        """Render one rank of a replica by vLLM's own multi-node start."""
        port = [] if process.rank else ["--port", str(process.http_port)]
        return Command(argv=("vllm", "serve", *port, *_ranks(process, deployment), *args))


def _serve(process: ProcessPlace, deployment: Deployment) -> list[str]:
    words = ["vllm", "serve", deployment.model_path]
    return words if process.rank else [*words, "--host", "0.0.0.0", "--port", str(process.http_port)]


def _ranks(process: ProcessPlace, deployment: Deployment) -> list[str]:
    ranks = deployment.ranks(process)
    if len(ranks) == 1:
        return []
    words = ["--master-addr", deployment.address(ranks[0].node), "--nnodes", str(len(ranks))]
    return [*words, "--node-rank", str(process.rank), *(["--headless"] if process.rank else [])]
