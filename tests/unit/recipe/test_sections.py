"""Every key of a recipe: how it is written, what it means, and what is said when it is wrong."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from servesweep.recipe.explaining import model_in
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.recipe import REPLICAS_ONLY, Recipe
from servesweep.recipe.roles import RoleSection
from servesweep.recipe.section import Choice
from servesweep.recipe.services import ServiceSection
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_recipe
from servesweep.recipe.variants import expand

SMALLEST = {
    "schema": "2",
    "name": "demo",
    "model": "{path: tiny, precision: fp8}",
    "engine": "simulator",
    "roles": "{agg: {nodes: 1}}",
}


def text(key: str, value: str) -> str:
    """The smallest recipe, one key a line, with one key set; replicas come without roles."""
    keys = {**SMALLEST, key: value}
    if key in REPLICAS_ONLY:
        keys["replicas"] = "2"
    if key == "router_args":
        keys["router"] = "sglang"
    if "replicas" in keys:
        del keys["roles"]
    return "".join(f"{name}: {written}\n" for name, written in keys.items())


def read(recipe: str) -> Recipe:
    (variant,) = expand(parse(recipe, "r.yaml"))
    return read_recipe(variant)


def complaint(recipe: str) -> str:
    with pytest.raises(RecipeError) as caught:
        read(recipe)
    return str(caught.value)


def at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value[step] if isinstance(value, dict) else getattr(value, step)
    return value


# (key at the top, what is written, path of the field, what it means)
RIGHT: list[tuple[str, str, str, Any]] = [
    ("schema", "2", "schema", 2),
    ("name", "demo", "name", "demo"),
    ("name", '"8"', "name", "8"),
    ("model", "{path: hf:org/model, precision: fp8}", "model.path", "hf:org/model"),
    ("model", "{path: tiny, precision: fp8}", "model.container", None),
    ("model", "{path: tiny, precision: fp8, container: sglang}", "model.container", "sglang"),
    ("model", '{path: tiny, precision: "8"}', "model.precision", "8"),
    ("model", "{path: tiny, precision: fp8, served_name: llama}", "model.served_name", "llama"),
    ("engine", "sglang", "engine.type", "sglang"),
    ("engine", "{type: sglang}", "engine.type", "sglang"),
    ("engine", "{type: mocker, speedup_ratio: 2}", "engine.options", {"speedup_ratio": 2}),
    ("roles", "{agg: {nodes: 2}}", "roles.agg.nodes", 2),
    ("roles", "{agg: {nodes: 1}}", "roles.agg.workers", 1),
    ("roles", "{agg: {nodes: 1, workers: 4}}", "roles.agg.workers", 4),
    ("roles", "{agg: {nodes: 1}}", "roles.agg.gpus", None),
    ("roles", "{agg: {nodes: 1, gpus: 4}}", "roles.agg.gpus", 4),
    ("roles", "{agg: {nodes: 1, env: {A_1: 8, B: x}}}", "roles.agg.env", {"A_1": "8", "B": "x"}),
    ("roles", "{agg: {nodes: 1, args: {tp-size: 8, flag: true}}}", "roles.agg.args",
     {"tp-size": 8, "flag": True}),
    ("roles", "{agg: {nodes: 1, critical: false}}", "roles.agg.critical", False),
    ("roles", "{agg: {nodes: 1}}", "roles.agg.critical", True),
    ("roles", "{agg: {nodes: 1, srun_options: {mpi: pmix}}}", "roles.agg.srun_options", {"mpi": "pmix"}),
    ("roles", "{prefill: {nodes: 1, gpus: 4}, decode: {nodes: colocate, gpus: 4}}", "roles.decode.nodes",
     "colocate"),
    ("roles", "{prefill: {nodes: 3}, decode: {nodes: 1}}", "roles.prefill.nodes", 3),
    ("replicas", "3", "replicas", 3),
    ("nodes_per_replica", "2", "nodes_per_replica", 2),
    ("framework_args", "--tp 8 --host 0.0.0.0", "framework_args", "--tp 8 --host 0.0.0.0"),
    ("router", "sglang", "router", "sglang"),
    ("router", "none", "router", "none"),
    ("router", "opentela", "router", "opentela"),
    ("pre_launch", "[module load cuda, ulimit -n 65536]", "pre_launch", ("module load cuda",
     "ulimit -n 65536")),
    ("router_args", "--policy cache_aware", "router_args", "--policy cache_aware"),
    ("resources", "{gpu_type: h100}", "resources.gpu_type", "h100"),
    ("resources", "{gpus_per_node: 4}", "resources.gpus_per_node", 4),
    ("resources", "{}", "resources.gpus_per_node", None),
    ("resources", "{spread_workers: true}", "resources.spread_workers", True),
    ("slurm", "{time_limit: 90}", "slurm.time_limit", 90),
    ("slurm", "{time_limit: 02:00:00}", "slurm.time_limit", 120),
    ("slurm", '{time_limit: "1-12"}', "slurm.time_limit", 36 * 60),
    ("slurm", "{account: lab}", "slurm.account", "lab"),
    ("slurm", "{partition: batch}", "slurm.partition", "batch"),
    ("frontend", "{}", "frontend.type", "dynamo"),
    ("frontend", "{type: none}", "frontend.type", "none"),
    ("frontend", "{args: {router-mode: kv}}", "frontend.args", {"router-mode": "kv"}),
    ("frontend", "{env: {A: 1}}", "frontend.env", {"A": "1"}),
    ("frontend", "{placement: {node: first_decode}}", "frontend.placement.node", "first_decode"),
    ("frontend", "{}", "frontend.placement.node", "head"),
    ("benchmark", "{}", "benchmark.type", "manual"),
    ("benchmark", "manual", "benchmark.type", "manual"),
    ("benchmark", "{type: sa-bench, isl: 8}", "benchmark.options", {"isl": 8}),
    ("benchmark", "{placement: {node: dedicated}}", "benchmark.placement.node", "dedicated"),
    ("health_check", "{max_attempts: 5}", "health_check.max_attempts", 5),
    ("health_check", "{interval_seconds: 0.5}", "health_check.interval_seconds", 0.5),
    ("health_check", "{interval_seconds: 2}", "health_check.interval_seconds", 2),
    ("health_check", "{max_attempts: 4, interval_seconds: 0.5}", "health_check.timeout_seconds", 2.0),
    ("health_check", "{fatal_log_markers: false}", "health_check.fatal_log_markers", False),
    ("health_check", "{extra_fatal_log_patterns: ['Xid \\d+']}", "health_check.extra_fatal_log_patterns", (
     "Xid \\d+",)),
    ("environment", "{HF_HUB_OFFLINE: 1, RATE: 0.5}", "environment", {"HF_HUB_OFFLINE": "1", "RATE": "0.5"}),
    ("srun_options", '{mpi: pmix, exclusive: "", cpus: 4}', "srun_options",
     {"mpi": "pmix", "exclusive": "", "cpus": "4"}),
]  # fmt: skip


@pytest.mark.parametrize(("key", "written", "path", "meant"), RIGHT)
def test_a_key_is_read(key: str, written: str, path: str, meant: Any) -> None:
    assert at(read(text(key, written)), path.replace("schema", "schema_")) == meant


def test_an_engine_of_a_role_is_read() -> None:
    roles = "{prefill: {nodes: 1, engine: sglang}, decode: {nodes: 1, engine: {type: vllm, connector: null}}}"
    recipe = read(text("roles", roles).replace("engine: simulator\n", ""))
    assert at(recipe, "roles.prefill.engine.type") == "sglang"
    assert at(recipe, "roles.decode.engine.options") == {"connector": None}


NO_TIME = 'write "90" or 90 (minutes), "90:00", "01:30:00", "1-12", "1-12:30" or "1-12:30:00"'
EMPTY = "the key has no value: write one, or remove the key"
AGG = (
    "args, container, critical, engine, env, extra_args, gpus, kv_events, nodes, restart, sidecar,"
    " srun_options, workers"
)
NODES = "expected a number of nodes from 1, or `colocate` for decode, got"

# (key at the top, what is written, the key path that is named, the sentence)
WRONG: list[tuple[str, str, str, str]] = [
    ("schema", "1", "schema", "expected 2, got 1"),
    ("schema", '"2"', "schema", "expected 2, got '2': write it without quotes"),
    ("schema", "", "schema", EMPTY),
    ("name", "8", "name", 'expected text, got the number 8: write it in quotes, "8"'),
    ("name", '""', "name", "the text is empty"),
    ("name", "", "name", EMPTY),
    ("name", "[a]", "name", "expected text, got a list"),
    ("name", "true", "name", "expected text, got true"),
    ("model", "tiny", "model",
     "expected a mapping with the keys container, path, precision, served_name, stage_dir, got 'tiny'"),
    ("model", "", "model", EMPTY),
    ("model", "{precision: fp8}", "model.path", "required key is missing"),
    ("model", "{path: 8, precision: fp8}", "model.path",
     'expected text, got the number 8: write it in quotes, "8"'),
    ("model", "{path: , precision: fp8}", "model.path", EMPTY),
    ("model", "{path: tiny}", "model.precision", "required key is missing"),
    ("model", "{path: tiny, precision: 8}", "model.precision",
     'expected text, got the number 8: write it in quotes, "8"'),
    ("model", "{path: tiny, precision: fp8, container: [a]}", "model.container", "expected text, got a list"),
    ("model", "{path: tiny, precision: fp8, container: }", "model.container", EMPTY),
    ("model", "{path: tiny, precision: fp8, served_name: true}", "model.served_name",
     "expected text, got true"),
    ("model", "{path: tiny, precison: fp8, precision: fp8}", "model.precison",
     "unknown key; did you mean precision?"),
    ("engine", "[sglang]", "engine", "expected a name, or a mapping with `type`, got a list"),
    ("engine", "3", "engine", "expected a name, or a mapping with `type`, got 3"),
    ("engine", "", "engine", EMPTY),
    ("engine", "{speedup_ratio: 2}", "engine.type", "required key is missing"),
    ("engine", "{type: 3}", "engine.type", 'expected text, got the number 3: write it in quotes, "3"'),
    ("roles", "", "roles", EMPTY),
    ("roles", "{}", "roles", "at least one role is needed: prefill and decode, or agg"),
    ("roles", "[agg]", "roles", "expected a mapping with the keys agg, decode, prefill, got a list"),
    ("roles", "{agg: 1}", "roles.agg", f"expected a mapping with the keys {AGG}, got 1"),
    ("roles", "{agg: }", "roles.agg", EMPTY),
    ("roles", "{prefil: {nodes: 1}, decode: {nodes: 1}}", "roles.prefil",
     "unknown key; did you mean prefill?"),
    ("roles", "{prefill: 1, decode: {nodes: 1}}", "roles.prefill",
     f"expected a mapping with the keys {AGG}, got 1"),
    ("roles", "{decode: [1], prefill: {nodes: 1}}", "roles.decode",
     f"expected a mapping with the keys {AGG}, got a list"),
    ("roles", "{agg: {workers: 1}}", "roles.agg.nodes", "required key is missing"),
    ("roles", "{agg: {nodes: two}}", "roles.agg.nodes", f"{NODES} 'two'"),
    ("roles", "{agg: {nodes: 0}}", "roles.agg.nodes", f"{NODES} 0"),
    ("roles", "{agg: {nodes: -1}}", "roles.agg.nodes", f"{NODES} -1"),
    ("roles", "{agg: {nodes: 1.5}}", "roles.agg.nodes", f"{NODES} 1.5"),
    ("roles", "{agg: {nodes: true}}", "roles.agg.nodes", f"{NODES} true"),
    ("roles", "{agg: {nodes: [1]}}", "roles.agg.nodes", f"{NODES} a list"),
    ("roles", "{agg: {nodes: }}", "roles.agg.nodes", EMPTY),
    ("roles", "{agg: {nodes: 1, workers: 0}}", "roles.agg.workers", "expected a number from 1, got 0"),
    ("roles", '{agg: {nodes: 1, workers: "2"}}', "roles.agg.workers",
     "expected a whole number, got '2': write it without quotes"),
    ("roles", "{agg: {nodes: 1, workers: 1.5}}", "roles.agg.workers", "expected a whole number, got 1.5"),
    ("roles", "{agg: {nodes: 1, wokers: 2}}", "roles.agg.wokers", "unknown key; did you mean workers?"),
    ("roles", "{agg: {nodes: 1, gpus: 0}}", "roles.agg.gpus", "expected a number from 1, got 0"),
    ("roles", "{agg: {nodes: 1, gpus: all}}", "roles.agg.gpus", "expected a whole number, got 'all'"),
    ("roles", "{agg: {nodes: 1, env: [A=1]}}", "roles.agg.env", "expected a mapping, got a list"),
    ("roles", "{agg: {nodes: 1, env: {A: true}}}", "roles.agg.env.A",
     'programs read true and false in many spellings: write the text meant, "true" or "1"'),
    ("roles", "{agg: {nodes: 1, args: [--tp]}}", "roles.agg.args", "expected a mapping, got a list"),
    ("roles", "{agg: {nodes: 1, critical: 0}}", "roles.agg.critical", "expected true or false, got 0"),
    ("roles", "{agg: {nodes: 1, srun_options: {mpi: true}}}", "roles.agg.srun_options.mpi",
     'write "" for a flag without a value'),
    ("roles", "{agg: {nodes: 1, engine: }}", "roles.agg.engine", EMPTY),
    ("roles", "{agg: {nodes: 1, engine: 7}}", "roles.agg.engine",
     "expected a name, or a mapping with `type`, got 7"),
    ("replicas", "0", "replicas", "expected a number from 1, got 0"),
    ("replicas", "two", "replicas", "expected a whole number, got 'two'"),
    ("nodes_per_replica", "0", "nodes_per_replica", "expected a number from 1, got 0"),
    ("framework_args", "[--tp, 8]", "framework_args", "expected text, got a list"),
    ("router", "sgl", "router", "expected none, sglang or opentela, got 'sgl'; did you mean sglang?"),
    ("resources", "{gpu_type: 100}", "resources.gpu_type",
     'expected text, got the number 100: write it in quotes, "100"'),
    ("resources", "{gpus_per_node: 8x}", "resources.gpus_per_node", "expected a whole number, got '8x'"),
    ("resources", "{gpus_per_node: 0}", "resources.gpus_per_node", "expected a number from 1, got 0"),
    ("resources", "{spread_workers: no}", "resources.spread_workers", "expected true or false, got 'no'"),
    ("resources", "", "resources", EMPTY),
    ("slurm", "{time_limit: soon}", "slurm.time_limit", f"'soon' is not a time limit; {NO_TIME}"),
    ("slurm", "{time_limit: 1:00:00:00}", "slurm.time_limit", f"'1:00:00:00' is not a time limit; {NO_TIME}"),
    ("slurm", "{time_limit: 0}", "slurm.time_limit",
     "'0' leaves no time: a time limit is at least one minute"),
    ("slurm", "{time_limit: }", "slurm.time_limit", EMPTY),
    ("slurm", "{time_limit: unlimited}", "slurm.time_limit",
     "unlimited is refused: the run must end by itself before the limit, so it needs a finite one"),
    ("slurm", "{account: 12}", "slurm.account", 'expected text, got the number 12: write it in quotes, "12"'),
    ("slurm", "{partition: [a, b]}", "slurm.partition", "expected text, got a list"),
    ("slurm", "{queue: high}", "slurm.queue", "unknown key; known here: account, partition, time_limit"),
    ("frontend", "dynamo", "frontend", "expected a mapping such as {type: dynamo}, got 'dynamo'"),
    ("frontend", "{type: 1}", "frontend.type", 'expected text, got the number 1: write it in quotes, "1"'),
    ("frontend", "{args: [a]}", "frontend.args", "expected a mapping, got a list"),
    ("frontend", "{env: {A-B: 1}}", "frontend.env.A-B",
     "'A-B' is no name of an environment variable: letters, digits and _, no digit first"),
    ("frontend", "{placement: {node: first_decod}}", "frontend.placement.node",
     "expected head, first_decode or dedicated, got 'first_decod'; did you mean first_decode?"),
    ("frontend", "{placement: head}", "frontend.placement",
     "expected a mapping such as {node: head}, got 'head'"),
    ("benchmark", "[sa-bench]", "benchmark", "expected a name, or a mapping with `type`, got a list"),
    ("benchmark", "{type: 3}", "benchmark.type", 'expected text, got the number 3: write it in quotes, "3"'),
    ("benchmark", "{placement: {node: first}}", "benchmark.placement.node",
     "expected head, last_decode or dedicated, got 'first'"),
    ("health_check", "{max_attempts: 0}", "health_check.max_attempts", "expected a number from 1, got 0"),
    ("health_check", "{interval_seconds: 0}", "health_check.interval_seconds",
     "expected a number above 0, got 0"),
    ("health_check", "{interval_seconds: 10s}", "health_check.interval_seconds",
     "expected a number, got '10s'"),
    ("health_check", "{fatal_log_markers: 1}", "health_check.fatal_log_markers",
     "expected true or false, got 1"),
    ("health_check", "{extra_fatal_log_patterns: oops}", "health_check.extra_fatal_log_patterns",
     "expected a list, got 'oops'"),
    ("health_check", "{extra_fatal_log_patterns: [(]}", "health_check.extra_fatal_log_patterns",
     "'(' is no regular expression: missing ), unterminated subpattern at position 0"),
    ("environment", "[A=1]", "environment", "expected a mapping, got a list"),
    ("environment", "{A: }", "environment.A", 'the variable has no value: write "" for empty text'),
    ("environment", "{A: [1]}", "environment.A", "expected text, got a list"),
    ("srun_options", "{mpi: [1]}", "srun_options.mpi", "expected text, got a list"),
    ("srun_options", "--mpi=pmix", "srun_options", "expected a mapping, got '--mpi=pmix'"),
    ("bechmark", "{}", "bechmark", "unknown key; did you mean benchmark?"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "written", "path", "sentence"), WRONG)
def test_a_fault_is_one_line_with_file_line_and_key(key: str, written: str, path: str, sentence: str) -> None:
    recipe = text(key, written)
    line = 1 + [row.partition(":")[0] for row in recipe.splitlines()].index(key)
    assert complaint(recipe) == f"r.yaml:{line}: {path}: {sentence}"


@pytest.mark.parametrize("key", ["schema", "name", "model"])
def test_a_required_key_is_asked_for(key: str) -> None:
    recipe = "".join(f"{name}: {value}\n" for name, value in SMALLEST.items() if name != key)
    hint = ": write schema: 2" if key == "schema" else ""
    assert complaint(recipe) == f"r.yaml:1: {key}: required key is missing{hint}"


# Every further key with a value that means something: what is wrong with each stands below.
FURTHER = """\
schema: 2
name: whole
model: {path: tiny, precision: fp8, stage_dir: /scratch/models}
engine: sglang
roles:
  prefill:
    nodes: 1
    container: prefill-image
    kv_events: true
    sidecar: true
    restart: on-failure
    extra_args: [--tool_parser, qwen]
  decode:
    nodes: 1
    kv_events: {publisher: zmq, topic: decode-events}
    sidecar: true
    restart: {policy: always, max_restarts: 5, backoff_seconds: 10, max_backoff_seconds: 120}
resources: {het_jobs: false}
dynamo:
  install: false
  source:
    git: https://example.com/dynamo.git
    rev: v1.6.1
    sha: 81d0555ee23519cea80a42b4fe824e30368b7300
    patches: [a-patch]
  top_of_tree: false
  request_plane: nats
  event_plane: zmq
  sidecar: true
  sidecar_port: 50051
  sidecar_binary: dynamo-sidecar
  sidecar_startup_timeout: 60
  sidecar_context_length: 4096
  sidecar_args: [--verbose]
frontend:
  enable_multiple_frontends: true
  num_additional_frontends: 4
  nginx_container: nginx
  nginx_raise_ulimit: true
  nginx_session_affinity: true
  nginx_session_affinity_header: X-Session
  nginx_keepalive_timeout: 60s
  ctx_router: {type: round_robin}
  gen_router: {type: load_balancing}
  server_config_extra: {timeout: 60}
  container_image: frontend-image
  numa_bind: true
  worker_selection: {policy: kv}
services:
  - name: etcd
    type: etcd
    placement: {node: dedicated}
  - name: cache
    command: [cache-server, --port, "9000"]
    env: {A: 1}
    container: cache-image
    placement: {node: workers, per: worker}
    start: before_workers
    readiness: {http: {port: 9000, path: /up, status: 204}, timeout_seconds: 60, interval_seconds: 1}
    inherit_discovery_env: false
    critical: true
    metrics: [{port: 9001}]
    preamble: ulimit -n 65536
    cpus_per_task: 4
    cpu_bind: none
    srun_options: {mem: 8G}
    source: {git: https://example.com/cache.git, rev: v1, path: server, sha: abc}
    build_command: [make]
    build_timeout_seconds: 600
  - name: trainer
    nodes: 2
    command: [train]
    args: [--verbose]
    options: {a: 1}
    terminal: true
    enabled: true
  - {name: watcher, command: [watch], placement: {pool: trainer}, readiness: {log: {pattern: ready}}}
  - {name: nats, type: nats, external: "nats://elsewhere:4222", readiness: {tcp: 4222}}
sbatch_directives: {mail-user: user@example.com, exclusive: ""}
container_mounts: {/data: /data}
extra_mount: ["/a:/b:ro"]
setup_script: setup.sh
host_setup: {commands: [a], teardown: [b], nodes: workers, ignore_failure: true, timeout_seconds: 120}
identity:
  model: {repo: org/model, revision: dc54ff55}
  container: {image: registry/image@sha256:46da}
  frameworks: {vllm: 0.20.0}
profiling:
  type: nsys-time
  extra_nsys_args: --trace cuda
  prefill: {start_step: 10, stop_step: 30}
  decode: {start_step: 200, stop_step: 400}
  delay_secs: 10
  duration_secs: 5
  benchmark_duration_secs: 60
observability:
  enabled: true
  enable_otel: true
  otel_endpoint: http://otel:4317
  tachometer:
    enabled: true
    binary_path: scraper
    collect_interval_ms: 500
    sync_interval_secs: 60
    compaction_threads: 2
    storage_subdir: metrics
    extra_metadata: {site: lab}
  nsys: {trace: cuda}
telemetry:
  enabled: true
  dcgm_exporter: {container_image: dcgm, port: 9402, command: [dcgm-exporter]}
  collect_interval_ms: 500
  storage_subdir: watts
  required: true
  startup_timeout_seconds: 10
  request_timeout_seconds: 1
  collector_join_timeout_seconds: 5
post_eval: {command: [evaluate], passthrough_env: [HF_TOKEN]}
output: {log_dir: ./outputs}
reporting:
  status: {endpoint: http://s:8080, endpoints: [http://t:8080], token_env: TOKEN}
  ai_analysis: {enabled: true}
  s3: {bucket: results}
enable_config_dump: false
"""

# What the recipe above cannot hold beside the rest.
BESIDE = {"dynamo.source.pypi", "dynamo.source.wheel", "profiling.aggregated"}


def fields(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Path of every field that a recipe may have."""
    for name, field in model.model_fields.items():
        if issubclass(model, Choice) and name == "options":
            continue
        here = f"{path}{field.alias or name}"
        yield here
        inner = model_in(field.annotation)
        # The three roles are one model: agg stands for them. Services are a list, shown as a whole.
        if inner and inner is not ServiceSection and not (inner is RoleSection and not here.endswith("agg")):
            yield from fields(inner, f"{here}.")


def written(data: Any, path: str = "") -> Iterator[str]:
    """Path of every key of a recipe; a role stands for all."""
    if isinstance(data, dict):
        for key, value in data.items():
            here = f"{path}.{key}" if path else key
            yield here.replace("roles.prefill", "roles.agg").replace("roles.decode", "roles.agg")
            yield from written(value, here)


TABLED = {row[2] for row in RIGHT}
KEYS = list(fields(Recipe))
IN_FURTHER = set(written(parse(FURTHER, "r.yaml").data))


@pytest.mark.parametrize("path", KEYS)
def test_the_tables_above_name_every_key(path: str) -> None:
    by_role = path.replace("roles.decode", "roles.agg").replace("roles.prefill", "roles.agg")
    tabled = any(known == path or known.startswith(f"{path}.") for known in TABLED)
    beside = any(path == key or path.startswith(f"{key}.") for key in BESIDE)
    assert tabled or by_role in IN_FURTHER or beside or path.startswith("roles.agg.engine")


def test_every_further_key_is_read_and_survives_json() -> None:
    recipe = read(FURTHER)
    assert recipe.roles is not None
    assert recipe.roles.prefill is not None
    assert recipe.roles.prefill.kv_events is not None
    assert recipe.roles.prefill.restart.policy == "on-failure"
    assert recipe.services[1].readiness is not None
    assert Recipe.model_validate_json(recipe.model_dump_json(by_alias=True)) == recipe


# Names and free-form mappings take whatever YAML may hold.
FREE = {"roles.agg.engine", "identity", "output", "reporting", "post_eval", "host_setup"}


@pytest.mark.parametrize("path", [key for key in KEYS if key not in FREE])
def test_a_list_of_lists_is_no_value_of_any_key(path: str) -> None:
    """One line that names file, line and the key, whichever key it is."""
    nested: Any = [[1]]
    for step in reversed(path.split(".")[1:]):
        nested = {step: nested}
    top = path.partition(".")[0]
    recipe = text(top, json.dumps(nested))
    message = complaint(recipe)
    line = 1 + [row.partition(":")[0] for row in recipe.splitlines()].index(top)
    assert any(row.startswith(f"r.yaml:{line}: {path}") for row in message.splitlines()), message
    assert not any("validation error" in row for row in message.splitlines()), message


def test_infinity_and_text_of_a_number_keep_their_types() -> None:
    recipe = read(text("benchmark", '{type: sa-bench, req_rate: [.inf, 2], seed: "1"}'))
    assert recipe.benchmark.options == {"req_rate": [math.inf, 2], "seed": "1"}


def test_a_recipe_survives_json_unchanged() -> None:
    recipe = read(text("benchmark", "{type: sa-bench, req_rate: [.inf, 2], placement: {node: dedicated}}"))
    assert Recipe.model_validate_json(recipe.model_dump_json(by_alias=True)) == recipe
    assert Recipe.model_validate(recipe.model_dump(mode="json", by_alias=True)) == recipe


def test_a_section_cannot_be_changed() -> None:
    recipe = read(text("name", "demo"))
    with pytest.raises(ValueError, match="frozen"):
        recipe.model.path = "other"  # type: ignore[misc]
