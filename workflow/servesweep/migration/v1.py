"""What a v1 recipe means: the defaults and derived values that v1 knew by itself."""

from __future__ import annotations

from typing import Any

from servesweep.migration.scope import Data, get

ROLES = ("prefill", "decode", "agg")
MODES = {"prefill": "prefill", "decode": "decode", "agg": "aggregated"}
GPUS_PER_NODE = 4
DYNAMO_VERSION = "0.8.0"
DYNAMO_REPOSITORY = "https://github.com/ai-dynamo/dynamo.git"
TACHOMETER_HZ = 5.0


def engine(data: Data) -> str:
    """The engine's name; v1 took sglang where none was given."""
    return str(get(data, "backend", "type") or "sglang")


def frontend(data: Data) -> str:
    """The frontend's v1 name; dynamo where none was given."""
    return str(get(data, "frontend", "type") or "dynamo")


def active(data: Data) -> tuple[str, ...]:
    """The roles that v1 started: their nodes alone decided."""
    resources = get(data, "resources") or {}
    disaggregated = any(resources.get(f"{role}_nodes") is not None for role in ("prefill", "decode"))
    return ("prefill", "decode") if disaggregated else ("agg",)


def described(data: Data) -> tuple[str, ...]:
    """The roles that a base says something about: layout, environment or arguments."""
    resources, backend = get(data, "resources") or {}, get(data, "backend") or {}
    return tuple(
        role
        for role in ROLES
        if any(resources.get(f"{role}_{key}") is not None for key in ("nodes", "workers"))
        or backend.get(f"{MODES[role]}_environment")
        or args(data, role)
    )


def gpus(data: Data, role: str) -> int | None:
    """GPUs of a worker, rounded down as v1 did; None where a placeholder of a sweep decides."""
    resources = get(data, "resources") or {}
    explicit = resources.get(f"gpus_per_{role}")
    nodes, workers = resources.get(f"{role}_nodes"), resources.get(f"{role}_workers")
    whole = resources.get("gpus_per_node") or GPUS_PER_NODE
    if any(isinstance(value, str) for value in (explicit, nodes, workers, whole)):
        return None
    if explicit is not None:
        return int(explicit)
    if role == "decode" and nodes == 0 and workers:
        return gpus(data, "prefill")
    return int(nodes * whole // workers if nodes and workers else whole)


def args(data: Data, role: str) -> Data:
    """The engine's arguments of a role."""
    return get(data, "backend", f"{engine(data)}_config", MODES[role]) or {}


def kv_events(data: Data, role: str) -> Any:
    """The `kv_events` of a role; None for none. A bare true means agg only on sglang."""
    config = get(data, "backend", "kv_events_config")
    if isinstance(config, dict):
        return config.get(MODES[role]) or None
    covered = role != "agg" or engine(data) == "sglang"
    return True if config is True and covered else None


def dynamo_source(data: Data) -> Data:
    """Which Dynamo was installed, in v2's words; {} for top_of_tree, or where v1 installed none."""
    dynamo = get(data, "dynamo") or {}
    if dynamo.get("source"):
        return dict(dynamo["source"])
    if dynamo.get("top_of_tree"):
        return {}
    if dynamo.get("hash"):
        patches = {"patches": dynamo["cargo_patches"]} if dynamo.get("cargo_patches") else {}
        return {"git": DYNAMO_REPOSITORY, "rev": dynamo["hash"], **patches}
    if dynamo.get("wheel"):
        return {"wheel": dynamo["wheel"]}
    if dynamo.get("version"):
        return {"pypi": dynamo["version"]}
    installs = frontend(data) == "dynamo" and dynamo.get("install", True) is not False
    return {"pypi": DYNAMO_VERSION} if installs and not modern(data) else {}


def modern(data: Data) -> bool:
    """Whether a file says `schema: 2` in spite of its v1 keys: what it does not say is v2's default."""
    return data.get("schema") == 2


def dedicated_infra(data: Data) -> bool:
    """Whether etcd and nats had a node of their own; only Dynamo uses them."""
    return frontend(data) == "dynamo" and get(data, "infra", "etcd_nats_dedicated_node") is True


def observed(data: Data) -> bool:
    """Whether `observability.enabled` is on."""
    return get(data, "observability", "enabled") is True
