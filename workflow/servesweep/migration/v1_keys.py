"""Keys of v1 in a file that says `schema: 2`, and whose words such a file speaks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

ROLES = ("prefill", "decode", "agg")
KEYS: dict[str, frozenset[str]] = {
    "resources": frozenset(
        name
        for role in ROLES
        for name in (f"{role}_nodes", f"{role}_workers", f"gpus_per_{role}", f"{role}_critical")
    ),
    "frontend": frozenset({"orchestrator_placement", "dedicated_node"}),
    "benchmark": frozenset({"client_placement", "client_dedicated_node", "export_node_metrics"}),
    "dynamo": frozenset({"version", "wheel", "hash", "cargo_patches"}),
    "observability": frozenset(
        {"scrape_metrics", "scrape_interval_seconds", "scrape_output", "build_dashboard"}
    ),
    "telemetry": frozenset({"default_frequency"}),
}
TOP = ("backend", "infra")


def v1_keys(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys of v1 that a file holds, dotted, each once: in the recipe, or in its base and variants."""
    return tuple(dict.fromkeys(key for block in _blocks(data) for key in _held(block)))


def speaks_v1(data: Mapping[str, Any]) -> bool:
    """Whether a file is written in v1's words: with keys of v1, and no engine named as v2 names it."""
    return bool(v1_keys(data)) and not any(_names_engine(block) for block in _blocks(data))


def _blocks(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the recipe; of a file with a base, the base and every variant."""
    if not isinstance(data.get("base"), dict):
        yield data
        return
    for key, block in data.items():
        if isinstance(block, dict) and (key == "base" or key.startswith(("override_", "zip_override_"))):
            yield block


def _held(block: Mapping[str, Any]) -> Iterator[str]:
    yield from (key for key in TOP if key in block)
    for section, keys in KEYS.items():
        inner = block.get(section)
        if isinstance(inner, dict):
            yield from (f"{section}.{key}" for key in inner if key in keys)
    if _at(block, "observability", "tachometer", "default_frequency") is not None:
        yield "observability.tachometer.default_frequency"
    nodes = _at(block, "roles", "decode", "nodes")
    if any(number == 0 and number is not False for number in (nodes if isinstance(nodes, list) else [nodes])):
        yield "roles.decode.nodes: 0"


def _names_engine(block: Mapping[str, Any]) -> bool:
    return any(
        _at(block, *path) is not None
        for path in (("engine",), ("replicas",), *(("roles", role, "engine") for role in ROLES))
    )


def _at(data: Any, *path: str) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data
