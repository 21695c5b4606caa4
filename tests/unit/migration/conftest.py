"""How the tests migrate a snippet, and random v1 files."""

from __future__ import annotations

import random
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest
import yaml

from servesweep.migration.migrate import migrate_text

Migrate = Callable[[str], str]


@pytest.fixture
def migrate() -> Migrate:
    """Migrate a snippet; what comes out must be stable under a second migration."""

    def run(snippet: str) -> str:
        text = migrate_text(dedent(snippet).lstrip("\n"), "recipe.yaml").text
        assert migrate_text(text, "recipe.yaml").text == text
        return text

    return run


Data = dict[str, Any]
MODES = {"prefill": "prefill", "decode": "decode", "agg": "aggregated"}


@pytest.fixture(scope="session")
def random_file() -> Callable[[int], str]:
    """Write a random v1 file that touches everything the migration rewrites."""
    return _file


def _file(seed: int) -> str:
    """A v1 file with a comment above each line and one at its end: `# above7.` and `# at7.`."""
    dice = random.Random(seed)
    base = {"name": "b", **_block(dice, {}, full=True)}
    data: Data = {"base": base}
    for number in range(dice.randint(0, 3)):
        data[f"override_o{number}"] = _block(dice, base, full=False)
    if dice.random() < 0.5:
        data["zip_override_z"] = {**_zipped(dice, _block(dice, base, full=False)), "name": ["za", "zb", "zc"]}
    if dice.random() < 0.3:
        data = base
    flow = dice.choice([False, None])
    lines = yaml.safe_dump(data, sort_keys=False, default_flow_style=flow).splitlines()
    commented = []
    for number, line in enumerate(lines):
        pad = " " * (len(line) - len(line.lstrip()))
        commented += [f"{pad}# above{number}.", f"{line}  # at{number}."]
    return "\n".join(commented) + "\n"


def _some(dice: random.Random, chance: float, data: Data) -> Data:
    return {key: value for key, value in data.items() if dice.random() < chance}


def _block(dice: random.Random, base: Data, *, full: bool) -> Data:
    block: Data = {}
    if full or dice.random() < 0.6:
        block["resources"] = _resources(dice, base, full=full)
    if full or dice.random() < 0.6:
        block["backend"] = _backend(dice, base, full=full)
    block["frontend"] = _some(
        dice,
        0.4,
        {
            "type": dice.choice(["dynamo", "sglang"]),
            "dedicated_node": dice.random() < 0.5,
            "orchestrator_placement": dice.choice(["head", "first_decode"]),
        },
    )
    infra = {"etcd_nats_dedicated_node": dice.random() < 0.5, "nats_max_payload_mb": dice.choice([8, 16])}
    block["infra"] = _some(dice, 0.4, infra)
    sources = {"version": "0.9", "hash": "abc", "wheel": "w", "top_of_tree": True, "install": False}
    block["dynamo"] = _some(dice, 0.25, sources)
    kind = dice.choice(["sa-bench", "gsm8k", "manual"])
    fields = {"isl": 5, "osl": 6, "concurrencies": "1x2", "num_shots": 3, "client_placement": "last_decode"}
    block["benchmark"] = _some(dice, 0.5, {"type": kind, **fields, "client_dedicated_node": True})
    return {key: value for key, value in block.items() if value or key == "resources"}


def _resources(dice: random.Random, base: Data, *, full: bool) -> Data:
    if not full and dice.random() < 0.4:
        return dice.choice([{"prefill_workers": dice.choice([1, 2, 3])}, {"decode_nodes": 0}])
    layout: Data = {
        "agg_nodes": dice.choice([1, 2]),
        "agg_workers": dice.choice([1, 2, 3]),
        "gpus_per_agg": 2,
    }
    if dice.random() < 0.7:
        layout = {
            "prefill_nodes": dice.choice([1, 2, 3]),
            "prefill_workers": dice.choice([1, 2, 3, 4]),
            "decode_nodes": dice.choice([0, 1, 2]),
            "decode_workers": dice.choice([1, 2, 3]),
            "gpus_per_prefill": dice.choice([1, 2, 4]),
            "gpus_per_decode": dice.choice([1, 2, 4]),
        }
    layout = {key: value for key, value in layout.items() if "gpus" not in key or dice.random() < 0.3}
    if full:
        return {**layout, **_some(dice, 0.8, {"gpus_per_node": 8})}
    old = [key for key in base.get("resources", {}) if key != "gpus_per_node"]
    return {**dict.fromkeys(old), **layout}


def _backend(dice: random.Random, base: Data, *, full: bool) -> Data:
    before = base.get("backend", {}).get("type", "sglang")
    engine, backend = before, {}
    if full or (dice.random() < 0.3 and f"{before}_config" in base.get("backend", {})):
        engine = dice.choice(["sglang", "vllm"])
        backend["type"] = engine
        if engine != before and not full:
            backend[f"{before}_config"] = None
    modes = dice.sample(list(MODES.values()), dice.randint(1, 3))
    flags = {"tp": 2, "ep": True, "host": "h", "x": "s"}
    backend[f"{engine}_config"] = {mode: _some(dice, 0.6, flags) or {"y": 1} for mode in modes}
    backend |= _some(dice, 0.4, {f"{mode}_environment": {dice.choice("ABC"): "1"} for mode in MODES.values()})
    events = dice.choice([True, False, {"prefill": True}, {"decode": {"topic": "t"}, "aggregated": True}])
    store = {"container": "image", "env": {dice.choice("ABC"): "m"}}
    others = {
        "kv_events_config": events,
        "connector": dice.choice(["nixl", "lmcache"]),
        "mooncake_kv_store": store,
    }
    return {**backend, **_some(dice, 0.3, others)}


def _zipped(dice: random.Random, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _zipped(dice, item) for key, item in value.items()}
    return value if value is None else dice.choice([value, [value] * 3, [value]])
