"""vLLM's KV connectors by the short names that recipes use.

Source of the classes: vLLM, `vllm/distributed/kv_transfer/kv_connector/factory.py`; for kvbm ai-dynamo,
`kvbm.vllm_integration.connector`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from servesweep.topology.ports import LMCACHE_SERVER

NONE = ("none", "null", "")
LMCACHE_PORT = "lmcache.mp.port"


@dataclass(frozen=True)
class Connector:
    """One connector; without a role of its own, prefill produces and decode consumes.

    With `registers`, workers make themselves known to their router, and their configuration says where.
    """

    name: str
    role: str | None = "kv_both"
    module: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    registers: bool = False


CONNECTORS: Mapping[str, Connector] = {
    "nixl": Connector("NixlConnector"),
    "lmcache": Connector("LMCacheConnectorV1"),
    "lmcache-mp": Connector(
        "LMCacheMPConnector",
        module="lmcache.integration.vllm.lmcache_mp_connector",
        extra={"lmcache.mp.host": "tcp://localhost", LMCACHE_PORT: LMCACHE_SERVER},
    ),
    "kvbm": Connector("DynamoConnector", module="kvbm.vllm_integration.connector"),
    "mooncake": Connector("MooncakeConnector", role=None),
    "moriio": Connector("MoRIIOConnector", role=None, registers=True),
}


def short_name(connector: str | None) -> str | None:
    """The short name of a connector that is given by it, or by the JSON of its class."""
    text = connector or ""
    for name, known in CONNECTORS.items():
        if text.lower() == name or f'"{known.name}"' in text:
            return name
    return connector


def registers_workers(connector: str | None) -> bool:
    """Whether workers with this connector make themselves known to their router."""
    known = CONNECTORS.get(short_name(connector) or "")
    return known is not None and known.registers


def transfer_config(
    connector: str, mode: str, place: Mapping[str, Any] | None = None, lmcache: int = LMCACHE_SERVER
) -> str | None:
    """The JSON of `--kv-transfer-config`: of a short name, or the text itself; None for no connector.

    `place` is what a connector that registers must say about the worker's own place, `lmcache` the port of
    LMCache's server on its node.
    """
    if connector.lower() in NONE:
        return None
    known = CONNECTORS.get(connector.lower())
    if known is None:
        return connector
    config: dict[str, Any] = {"kv_connector": known.name}
    if known.module:
        config["kv_connector_module_path"] = known.module
    config["kv_role"] = known.role or ("kv_producer" if mode == "prefill" else "kv_consumer")
    if known.extra or place:
        extra = {**known.extra, **(place or {})}
        if LMCACHE_PORT in extra:
            extra[LMCACHE_PORT] = lmcache
        config["kv_connector_extra_config"] = extra
    return json.dumps(config, separators=(",", ":"))


def checked(connector: str) -> str:
    """A connector as it may stand in a recipe.

    Raises:
        ValueError: for an unknown short name that is no JSON object either.
    """
    if connector.lower() in (*CONNECTORS, *NONE):
        return connector
    try:
        config = json.loads(connector)
    except json.JSONDecodeError:
        config = None
    if not isinstance(config, dict):
        names = ", ".join(CONNECTORS)
        raise ValueError(f"expected {names}, null or the connector's own JSON object, got {connector!r}")
    return connector
