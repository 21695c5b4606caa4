"""Random files: every configuration means after the migration what it meant before, and no comment is lost.

What v1 meant is computed from the v1 data alone, by the rules that v1 is known to have.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from servesweep.migration.migrate import migrate_text
from servesweep.recipe.source import parse
from servesweep.recipe.variants import expand

Data = dict[str, Any]
MODES = {"prefill": "prefill", "decode": "decode", "agg": "aggregated"}
USED = {"sa-bench": {"isl", "osl"}, "gsm8k": {"num_shots"}, "manual": set[str]()}


@pytest.mark.parametrize("seed", range(100))
def test_configurations_mean_what_they_meant(random_file: Callable[[int], str], seed: int) -> None:
    before = random_file(seed)
    after = migrate_text(before, "r.yaml").text
    assert migrate_text(after, "r.yaml").text == after
    new = {variant.suffix: variant for variant in expand(parse(after, "r.yaml"))}
    for variant in expand(parse(before, "r.yaml")):
        meaning = v1(variant.data)
        if meaning is not None and variant.suffix in new:
            assert v2(new[variant.suffix].data, meaning) == meaning, variant.suffix


@pytest.mark.parametrize("seed", range(100))
def test_below_schema_2_the_same_keys_mean_the_same(random_file: Callable[[int], str], seed: int) -> None:
    """All but what v1 did unasked: its Dynamo 0.8.0, its 4 GPUs of a node, and what it did not read."""
    before = random_file(seed)
    mixed = migrate_text(f"schema: 2\n{before}", "r.yaml").text
    assert migrate_text(mixed, "r.yaml").text == mixed
    found = [expand(parse(text, "r.yaml")) for text in (mixed, migrate_text(before, "r.yaml").text)]
    assert len(found[0]) == len(found[1])
    for one, other in zip(*found, strict=True):
        assert said(one.data) == said(other.data), one.suffix


def said(data: Data) -> Data:
    keys = {"nodes", "workers", "args", "env", "kv_events"}
    roles = {
        role: {key: value for key, value in spec.items() if key in keys}
        for role, spec in data["roles"].items()
    }
    frontend, benchmark = data.get("frontend", {}), data.get("benchmark", {})
    return {
        "roles": roles,
        "engine": data["engine"],
        "frontend": (frontend.get("type"), frontend.get("placement")),
        "client": benchmark.get("placement"),
        "services": data.get("services"),
    }


@pytest.mark.parametrize("seed", range(100))
def test_every_comment_is_there_once(random_file: Callable[[int], str], seed: int) -> None:
    before = random_file(seed)
    after = migrate_text(before, "r.yaml").text
    words = re.compile(r"# ((?:above|at)\d+\.)")
    assert sorted(words.findall(after)) == sorted(words.findall(before))


def v1(data: Data) -> Data | None:
    """The meaning of v1 data; None where v1 starts no workers, or workers without GPUs."""
    resources, backend = data["resources"], data.get("backend", {})
    disaggregated = any(resources.get(f"{role}_nodes") is not None for role in ("prefill", "decode"))
    roles = {role: v1_role(data, role) for role in (("prefill", "decode") if disaggregated else ("agg",))}
    if None in roles.values():
        return None
    frontend, benchmark = data.get("frontend", {}), data.get("benchmark", {})
    dynamo = frontend.get("type", "dynamo") == "dynamo"
    infra = data.get("infra", {}) if dynamo else {}
    used = USED[benchmark.get("type", "manual")] | {"type", "concurrencies"}
    client = benchmark.get("client_placement", "head")
    return {
        "roles": roles,
        "engine": backend.get("type", "sglang"),
        "connector": backend.get("connector"),
        "frontend": "dynamo" if dynamo else "sglang-router",
        "frontend node": "dedicated"
        if frontend.get("dedicated_node")
        else frontend.get("orchestrator_placement", "head"),
        "client node": "dedicated" if benchmark.get("client_dedicated_node") else client,
        "benchmark": {key: value for key, value in benchmark.items() if key in used},
        "dynamo": v1_source(data.get("dynamo", {}), dynamo),
        "dedicated": bool(infra.get("etcd_nats_dedicated_node")),
        "payload": infra.get("nats_max_payload_mb"),
        "store": backend.get("mooncake_kv_store", {}).get("container"),
    }


def v1_role(data: Data, role: str) -> tuple[Any, ...] | None:
    """(nodes, workers, GPUs of a worker, args, environment, KV events) of a role."""
    resources, backend = data["resources"], data.get("backend", {})
    engine, mode = backend.get("type", "sglang"), MODES[role]
    nodes, workers = resources.get(f"{role}_nodes"), resources.get(f"{role}_workers")
    if nodes is None or not workers or not (gpus := v1_gpus(resources, role)):
        return None
    args = backend.get(f"{engine}_config", {}).get(mode, {})
    store = backend.get("mooncake_kv_store", {}).get("env", {})
    events = backend.get("kv_events_config")
    if isinstance(events, dict):
        events = events.get(mode)
    elif role == "agg" and engine != "sglang":
        events = None
    return (
        nodes,
        workers,
        gpus,
        {key: value for key, value in args.items() if key != "host"},
        {**backend.get(f"{mode}_environment", {}), **store},
        events or None,
    )


def v1_gpus(resources: Data, role: str) -> int:
    if explicit := resources.get(f"gpus_per_{role}"):
        return int(explicit)
    nodes, workers = resources.get(f"{role}_nodes"), resources.get(f"{role}_workers")
    if role == "decode" and nodes == 0:
        return v1_gpus(resources, "prefill")
    whole = resources.get("gpus_per_node", 4)
    return int(nodes * whole // workers if nodes and workers else whole)


def v1_source(dynamo: Data, used: bool) -> Any:
    """Which Dynamo is installed; None where it does not matter."""
    if dynamo.get("top_of_tree"):
        return "top of tree"
    for key, word in (("hash", "rev"), ("wheel", "wheel"), ("version", "pypi")):
        if dynamo.get(key):
            return {word: dynamo[key]}
    return {"pypi": "0.8.0"} if used and dynamo.get("install", True) else None


def v2(data: Data, meaning: Data) -> Data:
    """The meaning of migrated data, in the same words."""
    assert not {"backend", "infra"} & set(data)
    engine = {"type": data["engine"]} if isinstance(data["engine"], str) else data["engine"]
    frontend, benchmark = data.get("frontend", {}), data.get("benchmark", {})
    services = {service["name"]: service for service in data.get("services", [])}
    nodes = {services.get(name, {}).get("placement", {}).get("node") for name in ("etcd", "nats")}
    return {
        "roles": {role: v2_role(data, spec) for role, spec in data["roles"].items()},
        "engine": engine["type"],
        "connector": engine.get("connector"),
        "frontend": frontend.get("type", "dynamo"),
        "frontend node": frontend.get("placement", {}).get("node", "head"),
        "client node": benchmark.get("placement", {}).get("node", "head"),
        "benchmark": {key: value for key, value in benchmark.items() if key != "placement"},
        "dynamo": v2_source(data.get("dynamo", {})) if meaning["dynamo"] else None,
        "dedicated": nodes == {"dedicated"},
        "payload": services.get("nats", {}).get("options", {}).get("max_payload_mb"),
        "store": services.get("mooncake-master", {}).get("container"),
    }


def v2_role(data: Data, spec: Data) -> tuple[Any, ...]:
    if spec["nodes"] == "colocate":
        assert "gpus" in spec
        assert "gpus" in data["roles"]["prefill"]
    nodes = 0 if spec["nodes"] == "colocate" else spec["nodes"]
    gpus = spec.get("gpus") or nodes * data["resources"]["gpus_per_node"] / spec["workers"]
    return (nodes, spec["workers"], gpus, spec.get("args", {}), spec.get("env", {}), spec.get("kv_events"))


def v2_source(dynamo: Data) -> Any:
    source = dict(dynamo.get("source", {}))
    assert ("git" in source) == ("rev" in source)
    source.pop("git", None)
    if dynamo.get("top_of_tree"):
        return source or "top of tree"
    return source
