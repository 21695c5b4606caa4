"""Replicas as ADR-0001 of swiss-ai/model-launch describes them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from servesweep.plan.plan import Plan

Planner = Callable[..., Plan]


def argv(found: Plan, name: str) -> tuple[str, ...]:
    return next(step.command.argv for step in found.steps if step.name == name)


def test_a_replica_has_contiguous_nodes_and_serves_on_8080(plan: Planner) -> None:
    found = plan("engine: sglang\nreplicas: 3\nnodes_per_replica: 2\nrouter: sglang\n")
    leaders = found.deployment.leaders("agg")
    assert [leader.worker_nodes for leader in leaders] == [("n0", "n1"), ("n2", "n3"), ("n4", "n5")]
    assert {leader.http_port for leader in leaders} == {8080}
    assert found.slurm.nodes == 6
    assert all(len(p.gpus) == 8 for p in found.deployment.processes)


def test_what_goes_before_the_engine_keeps_its_words_apart(plan: Planner) -> None:
    found = plan(
        "engine: {type: command, argv: [printf, '%s|', '{port}', $HOME, a b]}\n"
        "replicas: 1\npre_launch: [X=1, 'echo \"x is $X\"']\n"
    )
    words = argv(found, "agg_0")
    assert words == (
        "bash", "-c", 'set -e\nX=1\necho "x is $X"\nexec "$0" "$@"', "printf", "%s|", "8080", "$HOME", "a b",
    )  # fmt: skip
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert told == "x is 1\n8080|$HOME|a b|"


def test_what_fails_before_the_engine_fails_the_replica(plan: Planner) -> None:
    found = plan("engine: {type: command, argv: [echo, '{port}']}\nreplicas: 1\npre_launch: ['false']\n")
    ended = subprocess.run(argv(found, "agg_0"), capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")


def test_every_rank_gets_what_goes_before(plan: Planner) -> None:
    found = plan("engine: sglang\nreplicas: 1\nnodes_per_replica: 2\npre_launch: [module load cuda]\n")
    assert all("module load cuda" in argv(found, name)[2] for name in ("agg_0", "agg_0_r1"))


def test_the_router_gets_its_arguments(plan: Planner) -> None:
    found = plan(
        "engine: vllm\nreplicas: 2\nrouter: sglang\n"
        "router_args: --policy cache_aware --retries=3 --verbose --log-dir '/a b'\n"
    )
    assert argv(found, "frontend_0")[-7:] == (
        "--policy", "cache_aware", "--retries", "3", "--verbose", "--log-dir", "/a b",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("replicas: 2\nrouter_args: --policy x\n", "6: router_args: router_args are arguments of a router:"
         " say router: sglang"),
        ("replicas: 2\nrouter: sglang\nrouter_args: --port 3\n",
         "7: router_args: servesweep sets this argument of the router itself: remove --port"),
        ("replicas: 2\nrouter: sglang\nrouter_args: x --port\n",
         "7: router_args: the text is no command line: 'x' stands before any argument's name"),
        ("replicas: 2\nrouter: opentela\n",
         "6: router: OpenTela's program is unknown: name it in the cluster file, otela_binary"),
        ("roles: {agg: {nodes: 1}}\npre_launch: [a]\n",
         "6: pre_launch: pre_launch belongs to the replicas form: add replicas, or remove it"),
        ("replicas: 2\nprocesses_per_node: 4\n",
         "6: processes_per_node: multiple framework processes on a single node are deliberately not"
         " supported: a replica has whole nodes. Scale inside it by the framework's own arguments,"
         " such as --dp-size, or describe workers by roles"),
        ("replicas: 2\ntensor_parallel_size: 4\n",
         "6: tensor_parallel_size: sharding is the framework's own concern: write its flags in"
         " framework_args; none is inferred"),
        ("replicas: 2\nframework_port: 9000\n",
         "6: framework_port: every replica serves on port 8080, so that its address is known without asking"),
        ("replicas: 2\nframework_args: --port 9000\n",
         "6: framework_args: every replica serves on port 8080, which servesweep sets: remove --port"),
    ],
)  # fmt: skip
def test_what_replicas_do_not_do_is_refused(complaint: Callable[..., str], body: str, sentence: str) -> None:
    assert complaint("engine: sglang\n" + body) == f"demo.yaml:{sentence}"


def test_opentela_wraps_the_head_of_each_replica(plan: Planner) -> None:
    found = plan(
        "engine: sglang\nreplicas: 2\nnodes_per_replica: 2\nrouter: opentela\n"
        "framework_args: --model-path '/my models/m'\nmodel: {path: tiny, precision: fp8, served_name: m}\n",
        head="schema: 2\nname: demo\n",
        otela_binary="/opt/otela",
        otela_bootstrap="/ip4/10.0.0.1/tcp/43905/p2p/Q",
    )
    words = argv(found, "agg_0")
    assert words[:-1] == (
        "/opt/otela", "start", "--bootstrap.addr", "/ip4/10.0.0.1/tcp/43905/p2p/Q", "--service.name", "llm",
        "--service.port", "8080", "--label", "framework=sglang", "--label", "served_model_name=m",
        "--subprocess",
    )  # fmt: skip
    assert words[-1].startswith("python3 -m sglang.launch_server --port 8080 --dist-init-addr ip-n0:")
    assert words[-1].endswith("--model-path '/my models/m' --served-model-name m --host 0.0.0.0")
    assert argv(found, "agg_0_r1")[0] == "python3"
    # The mesh is outside of the job: nothing in it is public.
    assert (found.frontend, found.public) == ("none", None)


def test_one_machine_carries_one_opentela(complaint: Callable[..., str], plan: Planner) -> None:
    site = {"launcher": "local", "otela_binary": "/opt/otela"}
    found = complaint("engine: simulator\nreplicas: 2\nrouter: opentela\n", **site)
    assert found == (
        "demo.yaml:6: router: every OpenTela wants the same ports of its host,"
        " so one machine carries one replica"
    )
    assert (
        argv(plan("engine: simulator\nreplicas: 1\nrouter: opentela\n", **site), "agg_0")[0] == "/opt/otela"
    )


def test_vllm_over_nodes_is_a_ray_cluster(plan: Planner) -> None:
    found = plan("engine: vllm\nreplicas: 2\nnodes_per_replica: 2\nframework_args: --model /m\n")
    name = f"tiny-{found.digest[:8]}"
    head, follower = argv(found, "agg_1"), argv(found, "agg_1_r1")
    assert head[:2] == ("bash", "-c")
    assert "ray start --head --node-ip-address=ip-n2 --port=6379 --num-gpus=8" in head[2]
    assert '.get("GPU", 0) < 16' in head[2]
    assert head[3:] == (
        "vllm", "serve", "--port", "8080", "--distributed-executor-backend", "ray",
        "--model", "/m", "--served-model-name", name,
    )  # fmt: skip
    assert follower == (
        "ray", "start", "--address=ip-n2:6379", "--num-gpus=8", "--node-ip-address=ip-n3",
        "--disable-usage-stats", "--block",
    )  # fmt: skip


def test_vllm_on_one_node_needs_no_ray(plan: Planner) -> None:
    found = plan("engine: vllm\nreplicas: 1\nframework_args: --model /m\n")
    assert argv(found, "agg_0")[:4] == ("vllm", "serve", "--port", "8080")


def test_the_served_name_tells_configurations_apart_unless_given(plan: Planner) -> None:
    one, other = (plan(f"engine: sglang\nreplicas: {count}\n") for count in (1, 2))
    assert one.served_model == f"tiny-{one.digest[:8]}" != other.served_model
    given = plan("engine: sglang\nreplicas: 1\nframework_args: --served-model-name mine\n")
    assert given.served_model == "mine"
