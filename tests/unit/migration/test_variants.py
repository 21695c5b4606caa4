"""Override files: in a variant only what is there is rewritten, and each variant means what it meant."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent, indent
from typing import Any

import pytest

from servesweep.recipe.source import parse
from servesweep.recipe.variants import expand

Migrate = Callable[[str], str]

BASE = """
base:
  name: b
  resources:
    gpus_per_node: 8
    prefill_nodes: 1
    prefill_workers: 4
    decode_nodes: 1
    decode_workers: 1
  infra:
    etcd_nats_dedicated_node: true
  frontend:
    orchestrator_placement: first_decode
  backend:
    type: sglang
    kv_events_config: true
    prefill_environment:
      A: "1"
    sglang_config:
      prefill:
        tp-size: 2
        quick: true
      decode:
        tp-size: 8
  dynamo:
    version: 0.9.0
  benchmark:
    type: sa-bench
    isl: 1024
    osl: 1024
    concurrencies: [1, 2]
"""


@pytest.fixture
def block(migrate: Migrate) -> Callable[[str, str], str]:
    """Migrate a variant beside the base; its own migrated text."""

    def run(key: str, body: str) -> str:
        text = migrate(f"{BASE}{key}:\n{indent(dedent(body).strip(), '  ')}\n")
        return dedent(text.split(f"{key}:", 1)[1]).strip("\n ")

    return run


def variant(text: str, suffix: str) -> dict[str, Any]:
    """The resolved data of one variant."""
    return next(v.data for v in expand(parse(text, "r.yaml")) if v.suffix == suffix)


ROWS = [
    (
        "one value",
        "resources:\n  decode_workers: 4  # more\n  gpus_per_decode: 2",
        "roles:\n  decode:\n    workers: 4  # more\n    gpus: 2",
    ),
    (
        "workers whose GPUs no longer divide",
        "resources: {prefill_workers: 3}",
        "roles:\n  prefill:\n    workers: 3\n    gpus: 2",
    ),
    (
        "decode moves to prefill's nodes",
        "resources:\n  prefill_workers: 2\n  gpus_per_prefill: 2\n  decode_nodes: 0",
        "roles:\n  prefill:\n    workers: 2\n    gpus: 2\n  decode:\n    nodes: colocate\n    gpus: 2",
    ),
    (
        "nulls delete",
        "backend:\n  sglang_config:\n    prefill:\n      quick: null\n  prefill_environment: null\n"
        "frontend: null",
        "roles:\n  prefill:\n    env: null\n    args:\n      quick: null\nfrontend: null",
    ),
    (
        "another engine",
        "backend:\n  type: vllm\n  sglang_config: null\n  vllm_config:\n    prefill:\n"
        "      tensor-parallel-size: 2",
        "engine: vllm\nroles:\n  prefill:\n    args:\n      tensor-parallel-size: 2\n      quick: null\n"
        "      tp-size: null\n  decode:\n    args:\n      tp-size: null",
    ),
    (
        "an engine option brings the type along",
        "backend:\n  connector: nixl",
        "engine:\n  type: sglang\n  connector: nixl",
    ),
    (
        "a shared node for etcd again",
        "infra:\n  etcd_nats_dedicated_node: false",
        "services:\n  - name: etcd\n    type: etcd\n    placement:\n      node: infra\n"
        "  - name: nats\n    type: nats\n    placement:\n      node: infra",
    ),
    (
        "messages grow, the dedicated node stays",
        "infra:\n  nats_max_payload_mb: 8",
        "services:\n  - name: etcd\n    type: etcd\n    placement:\n      node: dedicated\n"
        "  - name: nats\n    type: nats\n    placement:\n      node: dedicated\n"
        "    options:\n      max_payload_mb: 8",
    ),
    (
        "dedicated wins over the base's place",
        "frontend: {dedicated_node: true}",
        "frontend:\n  placement:\n    node: dedicated",
    ),
    (
        "another source of Dynamo",
        "dynamo:\n  wheel: 1.0.dev1",
        "dynamo:\n  source:\n    wheel: 1.0.dev1\n    pypi: null",
    ),
    (
        "the newest Dynamo instead of the base's",
        "dynamo:\n  top_of_tree: true",
        "dynamo:\n  source: null\n  top_of_tree: true",
    ),
    (
        "a frontend that needs no Dynamo",
        "frontend:\n  type: sglang",
        "frontend:\n  type: sglang-router\n"
        "# migrate: the frontend sglang uses no etcd and no nats\nservices: null",
    ),
    (
        "KV events of one role alone",
        "backend:\n  kv_events_config:\n    decode: {topic: t}",
        "roles:\n  prefill:\n    kv_events: null\n  decode:\n    kv_events:\n      topic: t",
    ),
    (
        "a benchmark that does not read the base's fields",
        "benchmark:\n  type: gsm8k\n  num_shots: 4",
        "benchmark:\n  type: gsm8k\n  num_shots: 4\n  isl: null\n  osl: null",
    ),
    ("an empty variant stays", "{}", "{}"),
]


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_overrides(block: Callable[[str, str], str], before: str, after: str) -> None:
    assert block("override_x", before) == after


def test_one_empty_override_is_written_as_it_was(migrate: Migrate) -> None:
    assert migrate(f"{BASE}override_x: {{}}\n").endswith("override_x: {}\n")


def test_from_disaggregated_to_aggregated(migrate: Migrate) -> None:
    text = migrate(f"""{BASE}override_agg:
  resources:
    prefill_nodes: null
    prefill_workers: null
    decode_nodes: null
    decode_workers: null
    agg_nodes: 2
    agg_workers: 3
""")
    assert variant(text, "agg")["roles"] == {"agg": {"nodes": 2, "workers": 3, "gpus": 5, "kv_events": True}}


ZIPS = [
    (
        "a zip whose only list goes keeps its configurations",
        "benchmark:\n  type: gpqa\n  isl: [1, 2]",
        "# migrate: the names alone keep these configurations apart\nname: [b_x_0, b_x_1]\n"
        "benchmark:\n  type: gpqa\n"
        "  isl: null\n  osl: null\n"
        "  # migrate: benchmark.isl: [1, 2] is left out: gpqa does not use it",
    ),
    (
        "lists move with their spacing",
        "resources:\n  decode_nodes:   [ 1,  2 ]\n  decode_workers: [ 1, 16 ]",
        "roles:\n  decode:\n    nodes:   [ 1,  2 ]\n    workers: [ 1, 16 ]",
    ),
    (
        "a zero among node counts",
        "resources:\n  prefill_workers: 2\n  gpus_per_prefill: 2\n  decode_nodes: [1, 0]",
        "roles:\n  prefill:\n    workers: 2\n    gpus: 2\n"
        "  decode:\n    nodes: [1, colocate]\n    gpus: [8, 2]",
    ),
    (
        "GPUs that divide in one configuration only",
        "resources:\n  prefill_workers: [2, 3]",
        "roles:\n  prefill:\n    workers: [2, 3]\n    gpus: [4, 2]",
    ),
    (
        "lists of a variant stay lists of a list",
        "infra:\n  nats_max_payload_mb: 8\nname: [one, two]",
        "services: [[{name: etcd, type: etcd, placement: {node: dedicated}}, {name: nats, type: nats, "
        "placement: {node: dedicated}, options: {max_payload_mb: 8}}]]\nname: [one, two]",
    ),
    (
        "an engine's null was v1's default",
        "backend:\n  type: [vllm, null]\n  sglang_config: null\n  vllm_config: null",
        "engine: [vllm, sglang]\nroles:\n  prefill:\n    args:\n      quick: null\n      tp-size: null\n"
        "  decode:\n    args:\n      tp-size: null",
    ),
    (
        "places zip too",
        "frontend:\n  dedicated_node: [true, false]",
        "frontend:\n  placement:\n    node: [dedicated, first_decode]",
    ),
    (
        "sources of Dynamo zip too",
        "dynamo:\n  version: [null, 1.0.0]\n  hash: [abc, null]",
        "dynamo:\n  source:\n    git: ['https://github.com/ai-dynamo/dynamo.git', null]\n"
        "    rev: [abc, null]\n    pypi: [null, 1.0.0]",
    ),
    (
        "routers among frontends",
        "frontend:\n  type: [dynamo, sglang]  # both",
        "frontend:\n  type: [dynamo, sglang-router]  # both\n"
        "# migrate: the frontend sglang uses no etcd and no nats\n"
        "services: [[{name: etcd, type: etcd, placement: {node: dedicated}}, {name: nats, type: nats, "
        "placement: {node: dedicated}}], null]",
    ),
]


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in ZIPS], ids=[row[0] for row in ZIPS])
def test_zips(block: Callable[[str, str], str], before: str, after: str) -> None:
    assert block("zip_override_x", before) == after


def test_fields_of_the_base_that_no_variant_reads_leave_a_note(migrate: Migrate) -> None:
    text = migrate(f"{BASE}    num_shots: 3\noverride_x:\n  name: y\n")
    assert "    # migrate: benchmark.num_shots: 3 is left out: sa-bench does not use it" in text


def test_a_base_without_variants_is_a_recipe(migrate: Migrate) -> None:
    text = migrate("base:\n  name: b\n  resources: {agg_workers: 3}\n")
    (only,) = expand(parse(text, "r.yaml"))
    assert only.data["roles"]["agg"] == {"nodes": 1, "workers": 3, "gpus": 4}
    assert text.startswith("schema: 2\n\nbase:\n")


def test_a_sweep_keeps_its_points(migrate: Migrate) -> None:
    text = migrate("""
        name: s
        sweep:
          nodes: [1, 2]
          length: [128, 256]
        resources:
          gpus_per_node: 8
          agg_nodes: "{nodes}"
          agg_workers: 1
        benchmark: {type: sa-bench, isl: "{length}", osl: 8, concurrencies: "1x2"}
    """)
    found = [(v.suffix, v.data["name"], v.data["roles"]["agg"]["nodes"]) for v in expand(parse(text, "r"))]
    assert found == [(f"nodes{n}_length{i}", f"s_nodes{n}_length{i}", n) for n in (1, 2) for i in (128, 256)]
