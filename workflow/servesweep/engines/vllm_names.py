"""Names of vLLM's flags, and those under which it serves a model.

Source: vLLM, `vllm/engine/arg_utils.py`, and https://docs.vllm.ai, `vllm serve`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servesweep.engines.argument_faults import SERVED
from servesweep.engines.engine import argument
from servesweep.engines.vocabulary import Vocabulary
from servesweep.topology.deployment import Deployment

VOCABULARY = Vocabulary(
    read=frozenset(
        {"model", SERVED, "connector", "kv-transfer-config", "kv-events-config", "tensor-parallel-size",
         "pipeline-parallel-size", "data-parallel-size", "prefill-context-parallel-size", "profiler-config",
         "data-parallel-rpc-port", "data-parallel-hybrid-lb", "data-parallel-external-lb", "load-format",
         "master-port", "gms-shadow-mode", "api-server-count", "grpc", "distributed-executor-backend"}
    ),
    shorts={
        "tp": "tensor-parallel-size", "pp": "pipeline-parallel-size", "dp": "data-parallel-size",
        "dpn": "data-parallel-rank", "dpr": "data-parallel-start-rank", "dpl": "data-parallel-size-local",
        "dpa": "data-parallel-address", "dpp": "data-parallel-rpc-port", "dpb": "data-parallel-backend",
        "dph": "data-parallel-hybrid-lb", "dpe": "data-parallel-external-lb", "n": "nnodes",
        "r": "node-rank", "dcp": "decode-context-parallel-size", "pcp": "prefill-context-parallel-size",
        "ep": "enable-expert-parallel",
    },
    # Of versions before --device-ids.
    further=frozenset({"device"}),
)  # fmt: skip


def served_names(args: Mapping[str, Any], deployment: Deployment) -> list[str]:
    """The flag with the name that the API is asked for, and the further ones that a list gives."""
    given = argument(args, SERVED)
    others = [str(name) for name in given] if isinstance(given, list) else []
    return [f"--{SERVED}", *dict.fromkeys([deployment.served_model, *others])]
