"""What v2's words of a mixed file mean in v1's, so that one migration reads both."""

from __future__ import annotations

from typing import Any

from servesweep.migration import v1
from servesweep.migration.scope import Data

LAYOUT = {"nodes": "{}_nodes", "workers": "{}_workers", "gpus": "gpus_per_{}", "critical": "{}_critical"}
PLACES = {
    "frontend": ("orchestrator_placement", "dedicated_node"),
    "benchmark": ("client_placement", "client_dedicated_node"),
}


def unfolded(part: Data, engine: str) -> Data:
    """A recipe, base or variant of a `schema: 2` file with its v2 keys said as v1 did, beside its v1 keys.

    `engine` is the engine's name, under which v1 kept the arguments.
    """
    data: Data = {**part, "schema": 2}
    for role in v1.ROLES:
        roles = part.get("roles")
        if isinstance(roles, dict) and role in roles:
            _role(data, role, roles[role], engine)
    for section, (where, dedicated) in PLACES.items():
        inner = part.get(section)
        place = inner.get("placement") if isinstance(inner, dict) else None
        if isinstance(place, dict) and "node" in place:
            data[section] = {**data[section], where: place["node"], dedicated: False}
    if isinstance(part.get("dynamo"), dict) and "source" not in part["dynamo"]:
        source = v1.dynamo_source({"dynamo": part["dynamo"], "schema": 2})
        data["dynamo"] = {**part["dynamo"], **({"source": source} if source else {})}
    return data


def completed(data: Data) -> Data:
    """Fill in v2's default of one worker for the roles that have nodes."""
    resources = dict(data.get("resources") or {})
    for role in v1.ROLES:
        if resources.get(f"{role}_nodes") is not None and resources.get(f"{role}_workers") is None:
            resources[f"{role}_workers"] = 1
    return {**data, "resources": resources}


def _role(data: Data, role: str, spec: Any, engine: str) -> None:
    mode = v1.MODES[role]
    said: Data = spec if isinstance(spec, dict) else dict.fromkeys(LAYOUT)
    layout = {
        name.format(role): 0 if said[key] == "colocate" else said[key]
        for key, name in LAYOUT.items()
        if key in said
    }
    data["resources"] = {**(data.get("resources") or {}), **layout}
    backend: Data = dict(data.get("backend") or {})
    for key, name in (("env", f"{mode}_environment"), ("extra_args", f"{mode}_extra_args")):
        if key in said:
            backend[name] = _laid(backend.get(name), said[key])
    if "args" in said:
        config = dict(backend.get(f"{engine}_config") or {})
        config[mode] = _laid(config.get(mode), said["args"])
        backend[f"{engine}_config"] = config
    if "kv_events" in said:
        backend["kv_events_config"] = {
            **_by_mode(backend.get("kv_events_config"), engine),
            mode: said["kv_events"],
        }
    data["backend"] = backend


def _laid(below: Any, above: Any) -> Any:
    return {**below, **above} if isinstance(below, dict) and isinstance(above, dict) else above


def _by_mode(config: Any, engine: str) -> Data:
    """v1's bare `true` by role, as `v1.kv_events` reads it."""
    if isinstance(config, dict):
        return config
    covered = [mode for role, mode in v1.MODES.items() if role != "agg" or engine == "sglang"]
    return dict.fromkeys(covered, True) if config is True else {}
