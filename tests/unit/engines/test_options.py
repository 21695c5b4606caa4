"""Options of every engine: how they are written, and what is said when they are wrong."""

from typing import Any

import pytest

from servesweep.engines import ENGINES
from servesweep.engines.mooncake import MooncakeFileStore, MooncakeStore
from servesweep.engines.vllm_options import FailoverOptions
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_section
from servesweep.recipe.variants import expand


def read(engine: str, written: str) -> Any:
    (variant,) = expand(parse(f"engine:\n  type: {engine}\n  {written}\n", "r.yaml"))
    data = {key: value for key, value in variant.data["engine"].items() if key != "type"}
    return read_section(ENGINES[engine].Options, data, variant, ("engine",))


JSON = (
    "expected nixl, lmcache, lmcache-mp, kvbm, mooncake, moriio, null or the connector's own JSON object, got"
)

RIGHT: list[tuple[str, str, str, Any]] = [
    ("mocker", "engine_type: sglang", "engine_type", "sglang"),
    ("mocker", "speedup_ratio: 10", "speedup_ratio", 10),
    ("mocker", "num_gpu_blocks_override: 64", "num_gpu_blocks_override", 64),
    ("mocker", "max_num_seqs: 8", "max_num_seqs", 8),
    ("mocker", "max_num_batched_tokens: 512", "max_num_batched_tokens", 512),
    ("mocker", "data_parallel_size: 2", "data_parallel_size", 2),
    ("mocker", "block_size: 64", "block_size", 64),
    ("mocker", "startup_time: 0.5", "startup_time", 0.5),
    ("mocker", "decode_speedup_ratio: 2.5", "decode_speedup_ratio", 2.5),
    ("vllm", "connector: nixl", "connector", "nixl"),
    ("vllm", "connector: null", "connector", None),
    ("vllm", "connector: mooncake", "connector", "mooncake"),
    ("vllm", 'connector: \'{"kv_connector": "X"}\'', "connector", '{"kv_connector": "X"}'),
    ("vllm", "dp_launch_mode: per_gpu", "dp_launch_mode", "per_gpu"),
    ("vllm", "set_visible_devices: true", "set_visible_devices", True),
    ("vllm", "allow_prefill_decode_colocation: true", "allow_prefill_decode_colocation", True),
    (
        "vllm",
        "allow_prefill_decode_colocation_across_nodes: true",
        "allow_prefill_decode_colocation_across_nodes",
        True,
    ),
    ("vllm", "distributed: native", "distributed", "native"),
    ("vllm", "vllm_serve_binary: vllm-rs", "vllm_serve_binary", "vllm-rs"),
    ("trtllm", "served_model_name: llama", "served_model_name", "llama"),
    ("trtllm", "publish_metrics: false", "publish_metrics", False),
    ("trtllm", "publish_events_and_metrics: true", "publish_events_and_metrics", True),
    (
        "vllm",
        "mooncake_kv_store: {store_config: {protocol: rdma}}",
        "mooncake_kv_store",
        MooncakeFileStore(store_config={"protocol": "rdma"}),
    ),
    (
        "sglang",
        "mooncake_kv_store: {env: {MOONCAKE_PROTOCOL: tcp}, master_extra_args: [--a]}",
        "mooncake_kv_store",
        MooncakeStore(env={"MOONCAKE_PROTOCOL": "tcp"}, master_extra_args=("--a",)),
    ),
    ("atom", "connector: mooncake", "connector", "mooncake"),
    ("atom", "mooncake_protocol: tcp", "mooncake_protocol", "tcp"),
    ("vllm", "failover: {}", "failover", FailoverOptions(shadow_engines=1, shared_dir="/dev/shm")),
    ("trtllm", "numa_memory_bind: true", "numa_memory_bind", True),
    ("trtllm", "numa_cpu_bind: true\n  numa_memory_bind: local", "numa_memory_bind", "local"),
    ("trtllm", "numa_cpu_bind: true", "numa_cpu_bind", True),
    ("trtllm", "sequential_node_start: 2", "sequential_node_start", 2),
    ("tilert", "served_model_name: llama", "served_model_name", "llama"),
    ("command", "argv: [serve, '{port}']", "argv", ("serve", "{port}")),
    ("command", "argv: [a, '--at={port}']\n  health: /ready", "health", "/ready"),
]

WRONG: list[tuple[str, str, str]] = [
    ("mocker", "engine_type: 3", 'engine_type: expected text, got the number 3: write it in quotes, "3"'),
    ("mocker", "speedup_ratio: 0", "speedup_ratio: expected a number above 0, got 0"),
    ("mocker", "num_gpu_blocks_override: 0", "num_gpu_blocks_override: expected a number from 1, got 0"),
    ("mocker", "max_num_seqs: many", "max_num_seqs: expected a whole number, got 'many'"),
    ("mocker", "max_num_batched_tokens: 1.5", "max_num_batched_tokens: expected a whole number, got 1.5"),
    ("mocker", "data_parallel_size: 0", "data_parallel_size: expected a number from 1, got 0"),
    ("mocker", "block_size: ", "block_size: the key has no value: write one, or remove the key"),
    ("mocker", "startup_time: -1", "startup_time: expected a number from 0, got -1"),
    ("mocker", "decode_speedup_ratio: [2]", "decode_speedup_ratio: expected a number, got a list"),
    ("mocker", "speedup: 3", "speedup: unknown key; did you mean speedup_ratio?"),
    ("sglang", "tp: 3", "tp: unknown key; known here: mooncake_kv_store"),
    ("sglang", "mooncake_kv_store: {store_config: {}}",
     "mooncake_kv_store.store_config: unknown key; known here: container, env, master_extra_args"),
    ("vllm", "mooncake_kv_store: true", "mooncake_kv_store: expected a mapping with the keys container, env,"
     " master_extra_args, store_config, got true"),
    ("atom", "connector: nixl", "connector: expected mooncake, got 'nixl'"),
    ("atom", "mooncake_protocol: ib", "mooncake_protocol: expected rdma or tcp, got 'ib'"),
    ("tokenspeed", "tp: 3", "tp: unknown key; nothing can be set here"),
    ("simulator", "ttft-ms: 3", "ttft-ms: unknown key; nothing can be set here"),
    ("vllm", "connector: moncake", f"connector: {JSON} 'moncake'"),
    ("vllm", "connector: '[1]'", f"connector: {JSON} '[1]'"),
    ("vllm", "dp_launch_mode: both", "dp_launch_mode: expected per_node or per_gpu, got 'both'"),
    ("vllm", "set_visible_devices: 1", "set_visible_devices: expected true or false, got 1"),
    ("vllm", "allow_prefill_decode_colocation: maybe",
     "allow_prefill_decode_colocation: expected true or false, got 'maybe'"),
    ("vllm", "allow_prefill_decode_colocation_across_nodes: 2",
     "allow_prefill_decode_colocation_across_nodes: expected true or false, got 2"),
    ("vllm", "distributed: mp", "distributed: expected ray or native, got 'mp'"),
    ("vllm", "vllm_serve_binary: ''", "vllm_serve_binary: the text is empty"),
    ("trtllm", "served_model_name: 7",
     'served_model_name: expected text, got the number 7: write it in quotes, "7"'),
    ("trtllm", "publish_metrics: 1", "publish_metrics: expected true or false, got 1"),
    ("trtllm", "publish_events_and_metrics: 1", "publish_events_and_metrics: expected true or false, got 1"),
    ("vllm", "failover: {shadow_engines: 0}", "failover.shadow_engines: expected a number from 1, got 0"),
    ("trtllm", "numa_memory_bind: local", "numa_memory_bind: local memory needs numa_cpu_bind: true"),
    ("trtllm", "numa_memory_bind: near", "numa_memory_bind: expected true, false or local, got 'near'"),
    ("trtllm", "numa_cpu_bind: 2", "numa_cpu_bind: expected true or false, got 2"),
    ("trtllm", "sequential_node_start: -1", "sequential_node_start: expected a number from 0, got -1"),
    ("tilert", "served_model_name: []", "served_model_name: expected text, got a list"),
    ("command", "argv: serve {port}", "argv: expected a list, got 'serve {port}'"),
    ("command", "argv: []", "argv: the list is empty"),
    ("command", "argv: [serve]",
     "argv: {port} is not used: the server would not listen where it is looked for"),
    ("command", "argv: ['{port}', 3]", 'argv[1]: expected text, got the number 3: write it in quotes, "3"'),
    ("command", "argv: ['{port}']\n  health: ready", "health: expected a path such as /health, got 'ready'"),
    ("command", "argv: ['', '{port}']", "argv: the program has no name: the first word is empty"),
    ("command", "argv: ['{port}', \"a\\0\"]",
     "argv[1]: no command line and no variable can carry the character '\\x00': remove it"),
    ("command", "argv: ['{port}']\n  health: /a b", "health: expected a path such as /health, got '/a b'"),
    ("command", "argv: ['{port}']\n  health: \"/a\\n\"",
     "health: expected a path such as /health, got '/a\\n'"),
    ("command", "health: /ready", "argv: required key is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("engine", "written", "name", "meant"), RIGHT)
def test_an_option_is_read(engine: str, written: str, name: str, meant: Any) -> None:
    assert getattr(read(engine, written), name) == meant


@pytest.mark.parametrize(("engine", "written", "sentence"), WRONG)
def test_a_fault_is_one_line(engine: str, written: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        read(engine, written)
    assert str(caught.value).partition(": ")[2] == f"engine.{sentence}"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_tables_above_name_every_option(engine: str) -> None:
    options = set(ENGINES[engine].Options.model_fields)
    assert options == {row[2] for row in RIGHT if row[0] == engine}
    wrong = {row[2].partition(":")[0].partition("[")[0] for row in WRONG if row[0] == engine}
    assert options <= {name.partition(".")[0] for name in wrong}


def test_every_engine_says_where_it_works() -> None:
    assert {name: sorted(engine.transports) for name, engine in ENGINES.items()} == {
        "simulator": ["http"],
        "mocker": ["dynamo"],
        "command": ["http"],
        "sglang": ["dynamo", "http"],
        "vllm": ["dynamo", "http"],
        "trtllm": ["dynamo", "http"],
        "tilert": ["http"],
        "atom": ["http"],
        "tokenspeed": ["dynamo"],
    }
    over_nodes = ["sglang", "vllm", "trtllm", "tokenspeed"]
    assert [name for name, engine in ENGINES.items() if engine.spans_nodes] == over_nodes
    assert [name for name, engine in ENGINES.items() if engine.sidecars] == ["sglang", "vllm", "trtllm"]


@pytest.mark.parametrize(
    ("engine", "written", "expected"),
    [
        ("vllm", "connector: nixl", []),
        ("vllm", "failover: {shadow_engines: 2}", ["engine.failover: standby engines"]),
        ("trtllm", "numa_memory_bind: true", []),
        ("trtllm", "numa_cpu_bind: true", []),
        ("trtllm", "sequential_node_start: 1",
         ["engine.sequential_node_start: starting workers in turns"]),
    ],
)  # fmt: skip
def test_what_a_run_cannot_do_yet_is_told(engine: str, written: str, expected: list[str]) -> None:
    assert ENGINES[engine].unsupported(read(engine, written)) == expected


@pytest.mark.parametrize(
    ("engine", "words", "nodes", "expected"),
    [
        ("sglang", ("--tp", "8"), 2, []),
        ("sglang", ("--port", "1"), 1, ["framework_args"]),
        ("sglang", ("--port=1",), 1, ["framework_args"]),
        ("sglang", ("--portal", "1"), 1, []),
        ("sglang", ("--nnodes", "1"), 1, []),
        ("sglang", ("--dist-init-addr=x",), 2, ["framework_args"]),
        ("vllm", ("--headless",), 2, ["framework_args"]),
        ("vllm", ("--master_addr", "x"), 2, ["framework_args"]),
        ("simulator", (), 2, ["nodes_per_replica"]),
    ],
)
def test_free_form_arguments_of_a_replica(
    engine: str, words: tuple[str, ...], nodes: int, expected: list[str]
) -> None:
    assert [key for key, _ in ENGINES[engine].replica_refusals(words, nodes)] == expected
