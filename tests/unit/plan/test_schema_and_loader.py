"""What the loader takes, the JSON Schema takes: recipes are changed key by key, and both are asked.

The schema may be looser, since it does not know the rules between sections; it may never be stricter, or an
editor would paint red what runs. How much looser it is at most is a number below.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.json_schema import cluster_schema, recipe_schema
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.source import parse

HEAD = "schema: 2\nname: demo\nmodel: {path: /m, precision: fp8}\n"
RECIPES = {
    "disaggregated": """
engine: {type: sglang, mooncake_kv_store: {master_extra_args: [--v], env: {A: 1}}}
resources: {gpus_per_node: 8, het_jobs: null}
roles:
  prefill: {nodes: 1, workers: 2, gpus: 4, kv_events: true, restart: on-failure, critical: false}
  decode: {nodes: 1, kv_events: {topic: t}, restart: {policy: always, max_restarts: 2}, env: {B: x},
    args: {disaggregation-transfer-backend: mooncake, tp-size: 8}, srun_options: {mem: 0}}
frontend: {type: dynamo, args: {router-mode: kv}, placement: {node: first_decode},
  num_additional_frontends: 2}
dynamo: {install: false, source: {pypi: 1.0.0}, request_plane: nats}
slurm: {time_limit: '01:00:00', account: a}
benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: [1, 2], req_rate: inf, goodput: {ttft: 5.0}}
""",
    "aggregated": """
engine: {type: vllm, connector: null, dp_launch_mode: per_gpu, failover: {shadow_engines: 1}}
roles: {agg: {nodes: 2, workers: 2, container: i, args: {tensor-parallel-size: 8}, sidecar: false}}
health_check: {max_attempts: 3, interval_seconds: 0.5, extra_fatal_log_patterns: [oom]}
profiling: {type: nsys, extra_nsys_args: -x y, aggregated: {start_step: 1, stop_step: 3}}
host_setup: {commands: [a], nodes: workers}
identity: {model: {repo: a/b, revision: c}}
benchmark: {type: custom, command: "true", placement: {node: dedicated}}
services:
- {name: side, command: [a, b], readiness: {tcp: 80, timeout_seconds: 3}, metrics: {port: 90}}
- {name: up, type: nats, options: {max_payload_mb: 4}, placement: {node: dedicated}, enabled: false}
""",
    "trtllm": """
engine: {type: trtllm, numa_memory_bind: local, numa_cpu_bind: true}
roles: {prefill: {nodes: 1, gpus: 4}, decode: {nodes: colocate, gpus: 4}}
frontend: {type: trtllm_serve, ctx_router: {type: x}}
benchmark: {type: trace-replay, trace_file: /t, concurrencies: 4}
""",
    "replicas": """
engine: sglang
replicas: 2
nodes_per_replica: 1
framework_args: --tp-size 8
pre_launch: [a]
router: sglang
router_args: --policy random
extra_mount: ['/a:/b']
environment: {A: 1}
observability: {}
reporting: {status: {endpoint: http://x}}
""",
    "sweep": """
sweep: {n: [1, 2], e: [0.1]}
engine: simulator
roles: {agg: {nodes: '{n}', gpus: 8, args: {itl-ms: '{e}'}}}
frontend: {type: sglang-router}
benchmark: {type: sa-bench, isl: '{n}', osl: 8, concurrencies: '{n}x4'}
""",
}
VARIANTS = """
schema: 2
base:
  name: demo
  model: {path: /m, precision: fp8}
  engine: {type: sglang}
  roles: {agg: {nodes: 1, workers: 2, gpus: 4, restart: never}}
  frontend: {type: sglang-router}
  benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1x2}
override_a: {roles: {agg: {restart: null, workers: 1}}, benchmark: {osl: 4}}
override_b: {benchmark: {type: custom, command: 'true', isl: null, osl: null, concurrencies: null}}
zip_override_c: {name: [p, q], roles: {agg: {gpus: [1, 2], args: {x: [[1], [2]]}}}, environment: {A: [1, b]}}
"""
VALUES: tuple[Any, ...] = (
    None, True, False, "x", "", "{n}", 0, -1, 3, 1.5, [], ["x"], [3], [None], {}, {"x": 1}, {"x": None},
    [[3], [4]],
)  # fmt: skip
SITE = Cluster.model_validate({"launcher": "slurm", "default_partition": "p"})
SCHEMA = Draft7Validator(recipe_schema())
ASKED = 200


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every key path and list position."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield (*path, key)
        yield from places(value, (*path, key))


def mutations(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The recipe with one key removed, set to another value, or joined by one that nobody knows."""
    for path in places(data):
        told = ".".join(map(str, path))
        for value in (..., *VALUES):
            changed = copy.deepcopy(data)
            holder: Any = changed
            for step in path[:-1]:
                holder = holder[step]
            if value is ...:
                del holder[path[-1]]
            else:
                holder[path[-1]] = value
            yield f"{told} = {'removed' if value is ... else json.dumps(value)}", changed
        changed = copy.deepcopy(data)
        holder = changed
        for step in path[:-1]:
            holder = holder[step]
        if isinstance(holder, dict):
            holder["unheard_of"] = 1
            yield f"{told} + unheard_of", changed


def loads(data: dict[str, Any], file: Path) -> bool:
    """Whether validation takes it, engines, frontend, benchmark and services included."""
    file.write_text(json.dumps(data))
    try:
        list(read_recipe_file(RecipeFile(str(file)), SITE, file.parent))
    except RecipeError:
        return False
    return True


def sampled(name: str) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    data = parse(HEAD + RECIPES[name] if name in RECIPES else VARIANTS, "r.yaml").data
    everything = [one for one in mutations(data) if not deletes_nothing(*one)]
    return data, random.Random(0).sample(everything, min(ASKED, len(everything)))


def deletes_nothing(told: str, changed: dict[str, Any]) -> bool:
    """An override that deletes a key which nobody knows changes nothing, so the loader cannot see it.

    The schema does, and rather tells a typo.
    """
    return "base" in changed and "override_" in told and told.endswith('{"x": null}')


@pytest.mark.parametrize("name", [*RECIPES, "variants"])
def test_the_schema_is_never_stricter_than_the_loader_and_seldom_looser(name: str, tmp_path: Path) -> None:
    data, changes = sampled(name)
    file = tmp_path / "r.yaml"
    assert loads(data, file)
    assert SCHEMA.is_valid(data)
    verdicts = [(told, loads(changed, file), SCHEMA.is_valid(changed)) for told, changed in changes]
    assert [told for told, loaded, valid in verdicts if loaded and not valid] == []
    refused = [(told, valid) for told, loaded, valid in verdicts if not loaded]
    looser = [told for told, valid in refused if valid]
    assert refused
    assert len(looser) <= (0.2 if name in ("sweep", "variants") else 0.08) * len(refused), looser


@pytest.mark.parametrize("name", RECIPES)
def test_an_unknown_key_is_told_wherever_the_loader_tells_it(name: str, tmp_path: Path) -> None:
    data, _ = sampled(name)
    unknown = [(told, changed) for told, changed in mutations(data) if told.endswith("+ unheard_of")]
    refused = [changed for _, changed in unknown if not loads(changed, tmp_path / "r.yaml")]
    assert refused
    assert not any(SCHEMA.is_valid(changed) for changed in refused)


def test_every_value_of_a_cluster_file_that_is_read_is_taken(tmp_path: Path) -> None:
    """The same of the cluster file."""
    schema = Draft7Validator(cluster_schema())
    data = {
        "cluster": "lab", "launcher": "slurm", "gpus_per_node": 4, "default_time_limit": "1-0",
        "model_paths": {"a": "/b"},
        "default_health_check": {"max_attempts": 3}, "environment": {"A": 1}, "srun_options": {"mem": 0},
        "docker_args": ["x"], "reporting": {"status": {"endpoint": "x"}}, "cloud": {"a": 1},
        "preflight": False,
    }  # fmt: skip
    file = tmp_path / "cluster.yaml"
    taken = 0
    for told, changed in [("", data), *mutations(data)]:
        file.write_text(json.dumps(changed))
        try:
            read_cluster(str(file))
        except RecipeError:
            continue
        taken += 1
        assert schema.is_valid(changed), told
    assert taken > 10
