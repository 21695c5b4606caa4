"""Every row of the mapping from v1 to schema 2, as the text a person would see."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from servesweep.migration.migrate import migrate_text

ROLES = "engine: sglang\nroles:\n  agg:\n    nodes: 1\n    workers: 1\n"

# (what, what v1 says besides the least that a recipe has, what v2 says instead)
SECTIONS = [
    (
        "the router was called sglang",
        "frontend:\n  type: sglang",
        "frontend:\n  type: sglang-router",
    ),
    (
        "a frontend on a node of its own",
        "frontend:\n  dedicated_node: true",
        "frontend:\n  placement:\n    node: dedicated",
    ),
    (
        "a frontend on the first decode node",
        "frontend:\n  orchestrator_placement: first_decode\n  dedicated_node: false",
        "frontend:\n  placement:\n    node: first_decode",
    ),
    (
        "a client on the last decode node",
        "benchmark:\n  type: manual\n  client_placement: last_decode",
        "benchmark:\n  type: manual\n  placement:\n    node: last_decode",
    ),
    (
        "a client on a node of its own",
        "benchmark:\n  client_dedicated_node: true\n  type: manual",
        "benchmark:\n  placement:\n    node: dedicated\n  type: manual",
    ),
    ("Dynamo from PyPI", 'dynamo:\n  version: "0.9.1"', 'dynamo:\n  source:\n    pypi: "0.9.1"'),
    (
        "Dynamo from a wheel",
        "dynamo:\n  wheel: 1.2.0.dev1",
        "dynamo:\n  source:\n    wheel: 1.2.0.dev1",
    ),
    (
        "Dynamo from a commit, with patches",
        "dynamo:\n  hash: 81d0555\n  cargo_patches: ['x = 1']",
        "dynamo:\n  source:\n    git: https://github.com/ai-dynamo/dynamo.git\n    rev: 81d0555\n"
        "    patches: ['x = 1']",
    ),
    ("the newest Dynamo stays", "dynamo:\n  top_of_tree: true", "dynamo:\n  top_of_tree: true"),
    ("a Dynamo that is not installed", "dynamo:\n  install: false", "dynamo:\n  install: false"),
    (
        "a version beside a commit meant nothing",
        "dynamo:\n  version: 0.8.0\n  hash: 81d0555",
        "dynamo:\n  source:\n    git: https://github.com/ai-dynamo/dynamo.git\n"
        "    # migrate: dynamo.version: 0.8.0 is left out: another source of Dynamo was given, "
        "and v1 took that\n"
        "    rev: 81d0555",
    ),
    (
        "etcd and nats on a node of their own",
        "infra:\n  etcd_nats_dedicated_node: true",
        "services:\n  - name: etcd\n    type: etcd\n    placement:\n      node: dedicated\n"
        "  - name: nats\n    type: nats\n    placement:\n      node: dedicated",
    ),
    ("which was not the default", "infra:\n  etcd_nats_dedicated_node: false", ""),
    (
        "large messages over nats",
        "infra:\n  nats_max_payload_mb: 24",
        "services:\n  - name: nats\n    type: nats\n    options:\n      max_payload_mb: 24",
    ),
    (
        "infra that the frontend does not use",
        "frontend:\n  type: sglang\ninfra:\n  # spare\n  etcd_nats_dedicated_node: true\n"
        "slurm:\n  account: a",
        "frontend:\n  type: sglang-router\n"
        "# migrate: infra.etcd_nats_dedicated_node: true is left out:"
        " the frontend sglang uses no etcd and no nats\n"
        "# spare\nslurm:\n  account: a",
    ),
    (
        "benchmark fields that the type never read",
        "benchmark:\n  type: gsm8k\n  isl: 1024  # tokens\n  num_shots: 8",
        "benchmark:\n  type: gsm8k\n"
        "  # migrate: benchmark.isl: 1024 is left out: gsm8k does not use it\n  # tokens\n  num_shots: 8",
    ),
    (
        "a benchmark that nobody knows keeps its fields",
        "benchmark:\n  type: gsm9k\n  num_shots: 8",
        "benchmark:\n  # migrate: gsm9k is no type of benchmark that v1 or v2 knows\n"
        "  type: gsm9k\n  num_shots: 8",
    ),
    (
        "a retired benchmark field",
        "benchmark:\n  type: manual\n  export_node_metrics: true",
        "benchmark:\n  type: manual\n"
        "  # migrate: benchmark.export_node_metrics: true is left out: v2 has no place for it",
    ),
    (
        "a period in seconds that was called a frequency",
        "telemetry:\n  default_frequency: 0.5  # s",
        "telemetry:\n  collect_interval_ms: 500 # s",
    ),
    (
        "observability started neither Tachometer nor Nsight",
        "observability:\n  enabled: true\n  build_dashboard: false",
        "observability:\n  enabled: true\n  tachometer:\n    enabled: false\n  nsys:\n    enabled: false\n"
        "  # migrate: observability.build_dashboard: false is left out: v2 has no place for it",
    ),
    (
        "Tachometer's rate in hertz",
        "observability:\n  enabled: true\n  tachometer:\n    enabled: true\n    default_frequency: 2",
        "observability:\n  enabled: true\n  tachometer:\n    enabled: true\n    collect_interval_ms: 500\n"
        "  nsys:\n    enabled: false",
    ),
    (
        "a null that said the default",
        "slurm:\n  account: null\n  partition: p",
        "slurm:\n  # migrate: slurm.account: null is left out: it is the default\n  partition: p",
    ),
    (
        "srun options reach more steps now",
        "srun_options:\n  mem: 64G",
        "# migrate: v2 gives srun_options to every step, v1 gave them to workers and benchmark\n"
        "srun_options:\n  mem: 64G",
    ),
    ("profiling keeps its words", "profiling:\n  aggregated:\n    start_step: 5", None),
    ("a lock stays as it is", "lock:\n  version: 2\n  slurm: {account: null}\n  integrity: abc", None),
]


@pytest.mark.parametrize(("before", "after"), [row[1:] for row in SECTIONS], ids=[row[0] for row in SECTIONS])
def test_sections(migrate: Callable[[str], str], before: str, after: str | None) -> None:
    least = "resources:\n  gpus_per_node: 8\n  agg_nodes: 1\n  agg_workers: 1\nbackend:\n  type: sglang\n"
    dynamo = "" if "dynamo:" in before or "type: sglang" in before else "dynamo:\n  install: false\n"
    after = before if after is None else after
    expected = f"schema: 2\nresources:\n  gpus_per_node: 8\n{ROLES}{after}\n".replace("\n\n", "\n")
    assert migrate(f"{least}{before}\n{dynamo}") == expected + dynamo


TOPOLOGIES = [
    (
        "disaggregated",
        "prefill_nodes: 2\nprefill_workers: 4\ndecode_nodes: 1\ndecode_workers: 1\ngpus_per_decode: 8",
        "prefill:\n  nodes: 2\n  workers: 4\ndecode:\n  nodes: 1\n  workers: 1\n  gpus: 8",
    ),
    (
        "aggregated",
        "agg_workers: 2\nagg_nodes: 2\ngpus_per_agg: 4",
        "agg:\n  nodes: 2\n  workers: 2\n  gpus: 4",
    ),
    ("v1 took one node where none was said", "agg_workers: 1", "agg:\n  nodes: 1\n  workers: 1"),
    (
        "and gave every worker all GPUs of it",
        "agg_workers: 2",
        "agg:\n  nodes: 1\n  workers: 2\n  gpus: 8",
    ),
    (
        "decode on prefill's nodes got prefill's GPUs",
        "prefill_nodes: 2\nprefill_workers: 8\ndecode_nodes: 0  # shared\ndecode_workers: 2",
        "prefill:\n  nodes: 2\n  workers: 8\n  gpus: 2\n"
        "decode:\n  nodes: colocate # shared\n  workers: 2\n  gpus: 2",
    ),
    (
        "a division that lost GPUs",
        "prefill_nodes: 1\nprefill_workers: 3\ndecode_nodes: 1\ndecode_workers: 1",
        "prefill:\n  nodes: 1\n  workers: 3\n  gpus: 2\ndecode:\n  nodes: 1\n  workers: 1",
    ),
    (
        "a division that left no GPU",
        "agg_nodes: 1\nagg_workers: 9",
        "agg:\n  # migrate: v1 gave a agg worker 0 GPUs: say how many it has\n  nodes: 1\n  workers: 9",
    ),
    (
        "workers that v1 did not count",
        "prefill_nodes: 1\ndecode_nodes: 1\ndecode_workers: 1",
        "prefill:\n  # migrate: v1 counted no prefill workers here, for want of prefill_workers\n"
        "  nodes: 1\ndecode:\n  nodes: 1\n  workers: 1",
    ),
    (
        "placeholders of a sweep",
        'agg_nodes: 1\nagg_workers: "{n}"',
        'agg:\n  nodes: 1\n  workers: "{n}"',
    ),
    (
        "workers whose exit ends nothing",
        "agg_nodes: 1\nagg_workers: 1\nagg_critical: false",
        "agg:\n  nodes: 1\n  workers: 1\n  critical: false",
    ),
]


@pytest.mark.parametrize(
    ("resources", "roles"), [row[1:] for row in TOPOLOGIES], ids=[row[0] for row in TOPOLOGIES]
)
def test_topology(migrate: Callable[[str], str], resources: str, roles: str) -> None:
    def indented(text: str) -> str:
        return "".join(f"  {line}\n" for line in text.splitlines())

    before = f"resources:\n  gpus_per_node: 8\n{indented(resources)}backend:\n  type: vllm\n"
    after = f"schema: 2\nresources:\n  gpus_per_node: 8\nengine: vllm\nroles:\n{indented(roles)}"
    tail = "dynamo:\n  install: false\n"
    assert migrate(before + tail) == after + tail


AGG = "resources:\n  gpus_per_node: 8\n  agg_nodes: 1\n  agg_workers: 1\n"
ENGINES = [
    (
        "v1 took sglang",
        "aggregated_environment:\n  A: '1'",
        "engine: sglang\nroles:\n  agg:\n    nodes: 1\n    workers: 1\n    env:\n      A: '1'",
    ),
    (
        "engine-wide options stay with the engine",
        "type: vllm\nconnector: null\nset_cuda_visible_devices: true",
        "engine:\n  type: vllm\n  connector: null\n  set_visible_devices: true\n"
        "roles:\n  agg:\n    nodes: 1\n    workers: 1",
    ),
    (
        "arguments lose the flags that the product sets",
        "type: sglang\nsglang_config:\n  aggregated:\n    model-path: /m\n    nccl_port: 1\n    tp-size: 8",
        "engine: sglang\nroles:\n  agg:\n    nodes: 1\n    workers: 1\n    args:\n      model-path: /m\n"
        "      # migrate: nccl_port: 1 is left out: servesweep sets it\n      tp-size: 8",
    ),
    (
        "the engine YAML of TRT-LLM has no such flags; v1 passed no --publish-metrics",
        "type: trtllm\ntrtllm_config:\n  aggregated:\n    port: 1\naggregated_extra_args: [--tool_parser, x]",
        "engine:\n  type: trtllm\n  publish_metrics: false\nroles:\n  agg:\n    nodes: 1\n    workers: 1\n"
        "    args:\n      port: 1\n    extra_args: [--tool_parser, x]",
    ),
    (
        "KV events of sglang reach agg",
        "type: sglang\nkv_events_config: true",
        "engine: sglang\nroles:\n  agg:\n    nodes: 1\n    workers: 1\n    kv_events: true",
    ),
    (
        "KV events of vLLM do not",
        "type: vllm\nkv_events_config: true",
        "engine: vllm\nroles:\n  agg:\n    nodes: 1\n    workers: 1",
    ),
    (
        "unless they are asked for",
        "type: vllm\nkv_events_config:\n  aggregated:\n    topic: t",
        "engine: vllm\nroles:\n  agg:\n    nodes: 1\n    workers: 1\n    kv_events:\n      topic: t",
    ),
    (
        "the Mooncake store",
        "type: sglang\nmooncake_kv_store:\n  container: img\n  env:\n    A: '2'\n  master_extra_args: [-v]\n"
        "aggregated_environment:\n  A: '1'  # own",
        "engine: sglang\nroles:\n  agg:\n    nodes: 1\n    workers: 1\n    env:\n      A: '2' # own\n"
        "services:\n  - name: mooncake-master\n    type: mooncake-master\n    container: img\n    args:\n"
        "    - -v",
    ),
    (
        "a role that v1 did not start",
        "type: sglang\n# for later\nprefill_environment:\n  A: '1'",
        "engine: sglang\nroles:\n"
        "  # migrate: roles.prefill is commented out: the resources of this recipe start no prefill workers\n"
        "  # prefill:\n  #   # for later\n  #   env:\n  #     A: '1'\n"
        "  agg:\n    nodes: 1\n    workers: 1",
    ),
    (
        "arguments of another engine",
        "type: vllm\nsglang_config:\n  aggregated: {tp: 8}",
        "engine: vllm\n"
        "# migrate: backend.sglang_config is left out: the engine is vllm\n"
        "roles:\n  agg:\n    nodes: 1\n    workers: 1",
    ),
]


@pytest.mark.parametrize(("backend", "after"), [row[1:] for row in ENGINES], ids=[row[0] for row in ENGINES])
def test_engine(migrate: Callable[[str], str], backend: str, after: str) -> None:
    inside = "".join(f"  {line}\n" for line in backend.splitlines())
    tail = "dynamo:\n  install: false\n"
    expected = f"schema: 2\nresources:\n  gpus_per_node: 8\n{after}\n{tail}"
    assert migrate(f"{AGG}backend:\n{inside}{tail}") == expected


def test_defaults_of_v1_are_said(migrate: Callable[[str], str]) -> None:
    before = """
        model: {path: m}
        resources:
          gpu_type: h100
          agg_workers: 1
    """
    after = """
        schema: 2
        model: {path: m}
        resources:
          gpu_type: h100
          gpus_per_node: 4
        engine: sglang
        roles:
          agg:
            nodes: 1
            workers: 1
        dynamo:
          source:
            pypi: 0.8.0
    """
    assert migrate(before) == dedent(after).lstrip("\n")


def test_notes_say_what_was_left_out() -> None:
    text = "resources:\n  agg_workers: 1\nbenchmark:\n  type: gpqa\n  isl: 5\n"
    assert migrate_text(text, "r.yaml").notes == ("benchmark.isl: 5 is left out: gpqa does not use it",)
