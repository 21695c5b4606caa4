"""A worked example for each section of the reference page, and what its keys do not say themselves.

Each example stands at the top of a recipe; a test reads every one of them as part of a recipe.
"""

from __future__ import annotations

from collections.abc import Mapping

NOTES: Mapping[str, str] = {
    "roles.<role>": "`prefill`, `decode` and `agg` have the same keys; `<role>` stands for any of them. With"
    " `decode.nodes: colocate`, decode runs on the nodes of prefill, and both roles must say `gpus`.",
    "profiling.<phase>": "`prefill`, `decode` and `aggregated` have the same keys, and `<phase>` stands for"
    " any of them. `aggregated` is for the role agg.",
    "roles.<role>.kv_events": "`kv_events: true` means the defaults of both keys, `false` the same as no key."
    " Under the frontend dynamo alone.",
    "roles.<role>.restart": "`restart: on-failure` is the same as `restart: {policy: on-failure}`.",
    "services[].readiness.tcp": "`tcp: 9000` is the same as `tcp: {port: 9000}`.",
    "services[].readiness.file": "`file: ready` is the same as `file: {path: ready}`.",
    "services[].metrics[]": "One mapping, or a list of them with a `name` each.",
}

# Forms of a whole file: (sentence, text).
WHOLE_FILES: tuple[tuple[str, str], ...] = (
    (
        "A recipe with roles:",
        """
schema: 2
name: llama-70b
model: {path: llama-70b, container: sglang, precision: bf16}
engine: sglang
resources: {gpu_type: h100, gpus_per_node: 8}
roles:
  agg: {nodes: 1, workers: 2, gpus: 4, args: {tensor-parallel-size: 4}}
frontend: {type: sglang-router}
slurm: {time_limit: "02:00:00"}
benchmark: {type: sa-bench, isl: 1024, osl: 1024, concurrencies: 4x16x64}
""",
    ),
    (
        "The same with replicas, each on whole nodes, with the engine's arguments as text:",
        """
schema: 2
name: llama-70b-replicas
model: {path: llama-70b, container: sglang, precision: bf16}
engine: sglang
replicas: 2
nodes_per_replica: 1
framework_args: --tensor-parallel-size 8 --host 0.0.0.0
pre_launch: [ulimit -n 65536]
router: sglang
router_args: --policy cache_aware
benchmark: {type: sa-bench, isl: 1024, osl: 1024, concurrencies: 4x16x64}
""",
    ),
    (
        "Many configurations in one file, by `sweep` or by `base` with `override_<name>` and"
        " `zip_override_<name>`: see [sweeps](sweeps.md).",
        """
schema: 2
base:
  name: llama-70b
  model: {path: llama-70b, container: sglang, precision: bf16}
  engine: sglang
  roles: {agg: {nodes: 1, gpus: 8, args: {tensor-parallel-size: 8}}}
  frontend: {type: direct}
  benchmark: {type: sa-bench, isl: 1024, osl: 1024, concurrencies: 4x16x64}
override_long: {benchmark: {isl: 8192}}
""",
    ),
)

EXAMPLES: Mapping[str, str] = {
    "model": "model: {path: hf:meta-llama/Llama-3.1-70B-Instruct, container: sglang, precision: bf16}",
    "engine sglang": "engine: sglang",
    "engine vllm": "engine: {type: vllm, connector: nixl, dp_launch_mode: per_node}",
    "engine trtllm": "engine: {type: trtllm, publish_metrics: false, numa_memory_bind: true}",
    "engine mocker": "engine: {type: mocker, speedup_ratio: 10.0}",
    "engine command": """
engine:
  type: command
  argv: [my-server, --model, "{model}", --served-name, "{name}", --port, "{port}"]
  health: /health
""",
    "roles": """
roles:
  prefill: {nodes: 1, workers: 2, gpus: 4}
  decode: {nodes: 1, workers: 1, gpus: 8}
""",
    "roles.<role>": """
roles:
  prefill: {nodes: 1, workers: 1, gpus: 4, args: {tensor-parallel-size: 4}}
  decode: {nodes: colocate, workers: 1, gpus: 4, args: {tensor-parallel-size: 4}, env: {NCCL_DEBUG: WARN}}
""",
    "roles.<role>.kv_events": """
frontend: {type: dynamo, args: {router-mode: kv}}
roles:
  agg: {nodes: 1, workers: 2, kv_events: {topic: my-events}}
""",
    "roles.<role>.restart": """
roles:
  agg: {nodes: 1, critical: false, restart: {policy: on-failure, max_restarts: 2}}
""",
    "resources": "resources: {gpu_type: h100, gpus_per_node: 8}",
    "slurm": 'slurm: {time_limit: "02:30:00", account: lab, partition: batch}',
    "frontend": "frontend: {type: sglang-router, args: {policy: cache_aware}, env: {RUST_LOG: info}}",
    "frontend.placement": "frontend: {type: sglang-router, placement: {node: dedicated}}",
    "health_check": """
health_check: {max_attempts: 120, interval_seconds: 5, extra_fatal_log_patterns: [NCCL error]}
""",
    "dynamo": "dynamo: {install: true, source: {pypi: 1.6.1}, request_plane: tcp}",
    "dynamo.source": """
dynamo:
  source: {git: "https://github.com/ai-dynamo/dynamo", rev: v1.6.1}
""",
    "services[]": """
services:
- name: metrics-proxy
  command: [my-proxy, --listen, "9000"]
  placement: {node: head}
  readiness: {tcp: 9000, timeout_seconds: 60}
  critical: false
- {name: etcd, type: etcd, external: "10.0.0.5:2379"}
""",
    "services[].placement": """
services:
- {name: sampler, command: [my-sampler, --gpus, "{worker_gpus}"], placement: {node: workers, per: worker}}
""",
    "services[].readiness": """
services:
- name: cache
  command: [my-cache]
  readiness: {http: {port: 9000, path: /ready}, timeout_seconds: 60}
""",
    "services[].metrics[]": """
services:
- {name: cache, command: [my-cache], metrics: {port: 9000, path: /metrics}}
""",
    "services[].source": """
services:
- name: cache
  command: [./my-cache]
  source: {git: "https://example.org/cache.git", rev: v1.2.0}
  build_command: [make, my-cache]
""",
    "host_setup": """
host_setup:
  commands: [nvidia-smi -pm 1]
  teardown: [nvidia-smi -pm 0]
  nodes: workers
""",
    "identity": """
identity:
  model: {repo: meta-llama/Llama-3.1-70B-Instruct, revision: 1605565b47bb9346c5515c34102e054115b4f98b}
  frameworks: {sglang: 0.5.5}
""",
    "profiling": """
profiling:
  type: nsys
  aggregated: {start_step: 100, stop_step: 120}
""",
    "profiling.<phase>": """
profiling:
  type: torch
  aggregated: {start_step: 100, stop_step: 120}
""",
    "observability": 'observability: {enable_otel: true, otel_endpoint: "http://10.0.0.5:4317"}',
    "telemetry": """
benchmark: {type: sa-bench, isl: 1024, osl: 1024, concurrencies: 4x16}
telemetry:
  enabled: true
  dcgm_exporter: {command: [dcgm-exporter, -a, ":9401"], port: 9401}
""",
    "post_eval": "post_eval: {command: [python3, evaluate.py], passthrough_env: [EVAL_TOKEN]}",
    "output": "output: {log_dir: logs}",
    "reporting": 'reporting: {status: {endpoint: "https://example.org/runs", token_env: RUNS_TOKEN}}',
    "benchmark sa-bench": """
benchmark:
  type: sa-bench
  isl: 1024
  osl: 1024
  concurrencies: [1, 16, 64]   # or 1x16x64
  req_rate: inf
  num_prompts_mult: 10
  goodput: {ttft: 500, tpot: 30}
""",
    "benchmark custom": """
benchmark:
  type: custom
  command: curl --fail "http://$SRT_FRONTEND_HOST:$SRT_FRONTEND_PORT/v1/models"
""",
    "benchmark manual": "benchmark: {type: manual, serve_seconds: 3600}",
    "benchmark trace-replay": """
benchmark: {type: trace-replay, trace_file: traces/conversation.jsonl, concurrencies: 8x32}
""",
}

CLUSTER = """
cluster: lab
launcher: slurm
container_runtime: pyxis
default_account: lab
default_partition: batch
default_gpu_type: h100
gpus_per_node: 8
model_paths: {llama-70b: /models/llama-3.1-70b-instruct}
containers: {sglang: /images/sglang.sqsh, vllm: /images/vllm.sqsh}
default_mounts: {/scratch: /scratch}
"""
