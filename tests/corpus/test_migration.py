"""Every real v1 recipe migrates, and each of its configurations means what it meant.

The facts of v1 are computed here from the v1 data alone, by the rules that v1 is known to have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from servesweep.migration.migrate import migrate_text
from servesweep.recipe.source import parse
from servesweep.recipe.variants import Variant, expand

Pair = tuple[str, str, str]
MODES = {"prefill": "prefill", "decode": "decode", "agg": "aggregated"}
SET_BY_THE_PRODUCT = {
    "sglang": {
        "host", "port", "nnodes", "node-rank", "dist-init-addr", "nccl-port", "disaggregation-mode",
        "disaggregation-bootstrap-port",
    },
    "vllm": {"host", "port", "nnodes", "node-rank", "master-addr", "headless", "device-ids"},
}  # fmt: skip


@pytest.fixture(scope="module")
def pairs(corpus: Path) -> list[Pair]:
    """(path, v1 text, migrated text) of every recipe."""
    found = []
    for file in sorted((corpus / "recipes").rglob("*.yaml")):
        name = str(file.relative_to(corpus))
        text = file.read_text()
        found.append((name, text, migrate_text(text, name).text))
    assert len(found) == 392
    return found


def variants(pairs: list[Pair]) -> Iterator[tuple[str, Variant, Variant]]:
    """Yield (name, before, after) of every configuration."""
    for name, before, after in pairs:
        old, new = expand(parse(before, name)), expand(parse(after, name))
        yield from ((f"{name}:{one.suffix}", one, two) for one, two in zip(old, new, strict=True))


def test_a_second_migration_changes_nothing(pairs: list[Pair]) -> None:
    same = [name for name, _, after in pairs if migrate_text(after, name).text == after]
    print(f"\nmigrated twice as once: {len(same)} of {len(pairs)} recipes")
    assert same == [name for name, _, _ in pairs]


def half_v1(text: str) -> str:
    """A migrated recipe in the mixture that early files of `schema: 2` have: roles below a `backend`."""
    text = re.sub(r"^( *)engine: (\w+)(.*)$", r"\1backend:\3\n\1  type: \2", text, flags=re.MULTILINE)
    text = re.sub(r"^( *)engine:", r"\1backend:", text, flags=re.MULTILINE)
    text = re.sub(r"^( *type: )(['\"]?)sglang-router", r"\1\2sglang", text, flags=re.MULTILINE)
    return text.replace("nodes: colocate", "nodes: 0")


def test_recipes_that_mix_both_versions_mean_the_same(pairs: list[Pair]) -> None:
    same = []
    for name, _, after in pairs:
        mixed = half_v1(after)
        assert "backend:" in mixed, name
        found = [
            [(variant.suffix, variant.data) for variant in expand(parse(text, name))]
            for text in (migrate_text(mixed, name).text, after)
        ]
        same += [name] if found[0] == found[1] else []
    print(f"\nmixed and migrated again as before: {len(same)} of {len(pairs)} recipes")
    assert same == [name for name, _, _ in pairs]


def test_no_comment_is_lost(pairs: list[Pair]) -> None:
    for name, before, after in pairs:
        words = sorted(line.strip() for line in before.splitlines() if line.lstrip().startswith("#"))
        kept = sorted(
            line.strip()
            for line in after.splitlines()
            if line.lstrip().startswith("#") and not line.lstrip().startswith("# migrate: ")
        )
        assert kept == words, name


def test_lines_that_need_no_change_stay_with_their_spacing(pairs: list[Pair]) -> None:
    for name, before, after in pairs:
        left = {line.strip() for line in after.splitlines()}
        kept = [line for line in before.splitlines() if line.strip() in left]
        assert len(kept) > 0.75 * len(before.splitlines()), name


def test_configurations_keep_their_number_suffixes_and_names(pairs: list[Pair]) -> None:
    count = 0
    for name, old, new in variants(pairs):
        assert (old.suffix, old.data["name"], old.origin) == (new.suffix, new.data["name"], new.origin), name
        assert new.data["schema"] == 2
        assert not {"backend", "infra"} & set(new.data), name
        count += 1
    assert count == 492


def test_roles_have_the_workers_nodes_and_gpus_of_v1(pairs: list[Pair]) -> None:
    for name, old, new in variants(pairs):
        resources = old.data["resources"]
        disaggregated = "prefill_nodes" in resources or "decode_nodes" in resources
        active = {"prefill", "decode"} if disaggregated else {"agg"}
        assert set(new.data["roles"]) == active, name
        assert not any(key.endswith(("_nodes", "_workers")) for key in new.data["resources"]), name
        for role in active:
            spec = new.data["roles"][role]
            nodes = 0 if spec["nodes"] == "colocate" else spec["nodes"]
            assert (nodes, spec["workers"]) == (resources[f"{role}_nodes"], resources[f"{role}_workers"]), (
                name
            )
            assert gpus_of_v2(new.data, role) == gpus_of_v1(resources, role), name


def gpus_of_v1(resources: dict[str, Any], role: str) -> int:
    """Explicit, else prefill's for decode on no nodes of its own, else the nodes' GPUs over the workers."""
    explicit = resources.get(f"gpus_per_{role}")
    if explicit:
        return int(explicit)
    if role == "decode" and resources["decode_nodes"] == 0:
        return gpus_of_v1(resources, "prefill")
    return int(resources[f"{role}_nodes"] * resources.get("gpus_per_node", 4) // resources[f"{role}_workers"])


def gpus_of_v2(data: dict[str, Any], role: str) -> int:
    spec = data["roles"][role]
    if "gpus" in spec:
        return int(spec["gpus"])
    gpus, rest = divmod(spec["nodes"] * data["resources"]["gpus_per_node"], spec["workers"])
    assert rest == 0
    return int(gpus)


def test_engines_arguments_and_environment_are_those_of_v1(pairs: list[Pair]) -> None:
    for name, old, new in variants(pairs):
        backend, engine = old.data["backend"], new.data["engine"]
        kind = backend.get("type", "sglang")
        knobs = {"type": engine} if isinstance(engine, str) else engine
        moved = (f"{kind}_config", "kv_events_config", *(f"{mode}_environment" for mode in MODES.values()))
        expected = {"type": kind, **{k: v for k, v in backend.items() if k not in moved}}
        if kind == "trtllm" and old.data.get("frontend", {}).get("type", "dynamo") == "dynamo":
            expected["publish_metrics"] = False
        assert knobs == expected, name
        for role, spec in new.data["roles"].items():
            args = backend.get(f"{kind}_config", {}).get(MODES[role], {})
            taken = SET_BY_THE_PRODUCT.get(kind, set())
            assert spec.get("args", {}) == {k: v for k, v in args.items() if k not in taken}, name
            assert spec.get("env", {}) == backend.get(f"{MODES[role]}_environment", {}), name
            events = backend.get("kv_events_config", {})
            assert spec.get("kv_events") == events.get(MODES[role]), name


def test_frontend_dynamo_and_infrastructure_are_those_of_v1(pairs: list[Pair]) -> None:
    words = {"version": "pypi", "wheel": "wheel", "hash": "rev"}
    for name, old, new in variants(pairs):
        before, after = old.data.get("frontend", {}), new.data.get("frontend", {})
        router = {"type": "sglang-router"} if before.get("type") == "sglang" else {}
        assert after == {**before, **router}, name
        dynamo = {k: v for k, v in new.data.get("dynamo", {}).items() if k != "source"}
        source = new.data.get("dynamo", {}).get("source", {})
        v1 = old.data.get("dynamo", {})
        assert dynamo == {k: v for k, v in v1.items() if k not in words}, name
        assert {k: v for k, v in source.items() if k != "git"} == {
            words[k]: v1[k] for k in words if k in v1
        }, name
        assert ("git" in source) == ("hash" in v1), name
        dedicated = [(one["name"], one["placement"]["node"]) for one in new.data.get("services", [])]
        asked = old.data.get("infra", {}).get("etcd_nats_dedicated_node", False)
        assert dedicated == ([("etcd", "dedicated"), ("nats", "dedicated")] if asked else []), name


def test_everything_else_is_as_it_was(pairs: list[Pair]) -> None:
    changed = {"schema", "backend", "engine", "roles", "resources", "infra", "services", "frontend", "dynamo"}
    for name, old, new in variants(pairs):
        before = {k: v for k, v in old.data.items() if k not in changed}
        after = {k: v for k, v in new.data.items() if k not in changed}
        if "type" not in before["benchmark"]:  # manual reads no lengths
            before["benchmark"] = {"concurrencies": before["benchmark"]["concurrencies"]}
        assert after == before, name
        facts = ("gpu_type", "gpus_per_node", "spread_workers", "het_jobs")
        kept = {k: v for k, v in old.data["resources"].items() if k in facts}
        assert new.data["resources"] == {"gpus_per_node": 4, **kept}, name
