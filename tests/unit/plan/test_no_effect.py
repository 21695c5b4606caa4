"""Keys that change nothing are noted with the reason; where one contradicts another, it is refused."""

from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan

HTTP = "engine: sglang\nroles: {agg: {nodes: 1}}\n"
DIRECT = HTTP + "frontend: {type: direct, "
ROUTER = HTTP + "frontend: {type: sglang-router, "
SA = "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1, "
BARE = "benchmark: {type: custom, command: x}\n"


@pytest.mark.parametrize(
    ("body", "notes"),
    [
        # a frontend that starts no process
        (DIRECT + "env: {A: 1}, numa_bind: true}\n",
         ["frontend.env and frontend.numa_bind have no effect: direct starts no process"]),
        (DIRECT + "nginx_container: n, num_additional_frontends: 3, enable_multiple_frontends: true}\n",
         ["frontend.num_additional_frontends, frontend.nginx_container and"
          " frontend.enable_multiple_frontends have no effect: direct starts no process"]),
        (DIRECT + "worker_selection: {a: 1}}\n",
         ["frontend.worker_selection has no effect: direct as it is used here reads none"]),
        (HTTP + "frontend: {type: none, container_image: i}\n",
         ["frontend.container_image has no effect: none starts no process"]),
        ("engine: sglang\nroles: {prefill: {nodes: 1}, decode: {nodes: 1}}\n"
         "frontend: {type: none, placement: {node: first_decode}}\n",
         ["frontend.placement has no effect: none starts no process"]),
        (DIRECT + "enable_multiple_frontends: false}\n", []),
        # sections of other frontends
        (ROUTER + "ctx_router: {type: x}, server_config_extra: {a: 1}}\n",
         ["frontend.ctx_router and frontend.server_config_extra have no effect:"
          " sglang-router as it is used here reads none"]),
        (ROUTER + "env: {A: 1}, numa_bind: true}\n", []),
        (HTTP + "frontend: {type: dynamo, worker_selection: {a: 1}}\n", []),
        # nginx
        (ROUTER + "nginx_keepalive_timeout: 5s}\n",
         ["frontend.nginx_keepalive_timeout has no effect: no nginx stands before it"]),
        (ROUTER + "enable_multiple_frontends: true}\n",
         ["frontend.enable_multiple_frontends has no effect: no nginx stands before it"]),
        ("engine: sglang\nroles: {agg: {nodes: 2, workers: 2}}\nfrontend: {type: sglang-router,"
         " enable_multiple_frontends: true, num_additional_frontends: 1, nginx_keepalive_timeout: 5s}\n", []),
        ("engine: sglang\nroles: {agg: {nodes: 2, workers: 2}}\nfrontend: {type: sglang-router,"
         " enable_multiple_frontends: true, nginx_session_affinity_header: X-Me}\n",
         ["frontend.nginx_session_affinity_header has no effect: nginx_session_affinity is off"]),
        # benchmarks
        (HTTP + SA + "aiperf_args: {a: 1}, stream_output: true, slow_down_wait_time: 2}\n",
         ["benchmark.aiperf_args and benchmark.stream_output have no effect: the client is not aiperf",
          "benchmark.slow_down_wait_time has no effect: slow_down_sleep_time is not set"]),
        (HTTP + "benchmark: {type: custom, command: x, container_image: i}\n",
         ["benchmark.container_image has no effect: container_runtime is none"]),
        # roles and resources
        ("engine: sglang\nroles: {agg: {nodes: 1, restart: {max_restarts: 5}}}\n",
         ["roles.agg.restart has no effect: its policy is never"]),
        ("engine: sglang\nroles: {agg: {nodes: 1, restart: never}}\n", []),
        ("engine: sglang\nreplicas: 2\nresources: {spread_workers: true}\n" + BARE,
         ["resources.spread_workers has no effect: every worker has whole nodes"]),
        ("engine: sglang\nroles: {agg: {nodes: 2, workers: 2, gpus: 4}}\nresources: {spread_workers: true}\n",
         []),
        # observability
        (HTTP + "observability: {otel_endpoint: 'http://o:4317'}\n",
         ["observability.otel_endpoint has no effect: enable_otel is off"]),
        (ROUTER + "}\nobservability: {otel_endpoint: 'http://o:4317', enable_otel: true}\n",
         ["observability.enable_otel and observability.otel_endpoint have no effect:"
          " Dynamo exports traces, and the frontend is sglang-router"]),
        (HTTP + "observability: {tachometer: {collect_interval_ms: 5}}\n",
         ["observability.tachometer has no effect: scraping is off"]),
        # services and scripts
        (HTTP + "services: [{name: etcd, type: etcd, external: 'e:2379', args: [x], cpus_per_task: 2}]\n",
         ["services.etcd.args and services.etcd.cpus_per_task have no effect: it runs elsewhere"]),
        ("frontend: {type: none}\nservices: [{name: job, nodes: 1, command: [x], terminal: true}]\n"
         "setup_script: s.sh\n",
         ["setup_script has no effect: it runs before workers and frontends, and there are none"]),
        (HTTP + "setup_script: s.sh\n", []),
    ],
)  # fmt: skip
def test_a_key_without_effect_is_noted(plan: Callable[..., Plan], body: str, notes: list[str]) -> None:
    assert [note for note in plan(body).notes if "no effect" in note] == notes


def test_a_setup_script_runs_without_containers_too(plan: Callable[..., Plan]) -> None:
    found = plan(ROUTER + "}\nsetup_script: s.sh\n", container_runtime="none")
    ran = {step.name: step.preamble for step in found.steps}
    assert ran == {"agg_0": "set -e\nbash configs/s.sh\nset +e", "frontend_0": None}


@pytest.mark.parametrize("kind", ["direct", "none", "sglang"])
def test_no_node_is_asked_for_a_frontend_that_starts_nothing(
    complaint: Callable[..., str], kind: str
) -> None:
    found = complaint(HTTP + f"frontend: {{type: {kind}, placement: {{node: dedicated}}}}\n" + BARE)
    assert found == (
        f"demo.yaml:6: frontend.placement.node: {kind} starts no process,"
        " so a node of its own would carry nothing: remove it"
    )
