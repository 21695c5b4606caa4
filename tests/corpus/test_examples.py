"""The 20 examples of `corpus/v2` plan as their comments say: topology, ports, frontends, steps, services.

Twelve of them say `schema: 2` and are read as they are; six of those are written with keys of v1, as their
reference's loader of that time still took them. Eight have no `schema` and are migrated first. Aliases
resolve through a cluster file, as the comments ask.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from servesweep.migration.migrate import migrate_text
from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.plan import Plan, Step
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.problems import RecipeError

CLUSTER = """
container_runtime: pyxis
default_time_limit: "04:00:00"
model_paths: {qwen3-0.6b: /models/Qwen3-0.6B, deepseek-r1: /models/DeepSeek-R1}
containers: {sglang: /images/sglang.sqsh, vllm: /images/vllm.sqsh, trtllm: /images/trtllm.sqsh}
"""
WITH_V1_KEYS = {
    "features/profiling.yaml", "features/services.yaml", "features/sweep.yaml",
    "sglang/dynamo-agg.yaml", "sglang/sglang-router-disagg.yaml", "trtllm/dynamo-disagg.yaml",
}  # fmt: skip
WITHOUT_SCHEMA = {
    "example.yaml", "features/override.yaml", "mocker/aggregated.yaml", "mocker/dynamo-agg.yaml",
    "sglang/dynamo-disagg.yaml", "trtllm/trtllm-serve-agg.yaml", "vllm/dynamo-disagg.yaml",
    "vllm/vllm-router-agg.yaml",
}  # fmt: skip


class Said(NamedTuple):
    """What the comments and the topology of an example say.

    `nodes` are what stands on each node but `head` and `client`, which come with the first node that is not
    dedicated; `workers` the HTTP port and the GPUs of each; `points` the loads.
    """

    frontend: str
    engine: str
    nodes: list[str]
    workers: dict[str, tuple[int, range]]
    points: str
    image: str = "/images/sglang.sqsh"


ONE, TWO = range(1), range(1, 2)
PAIR = {"agg_0": (6100, ONE), "agg_1": (6132, TWO)}
SPLIT = {"prefill_0": (6100, ONE), "decode_0": (6132, TWO)}
ROUTER = Said("sglang-router", "sglang", ["agg_0 agg_1 frontend_0"], PAIR, "c4 c8")
DYNAMO = Said("dynamo", "sglang", ["etcd agg_0 agg_1 frontend_0"], PAIR, "c4 c8")
DISAGG = Said("dynamo", "sglang", ["etcd prefill_0 decode_0 frontend_0"], SPLIT, "c4 c8")
SINGLE = ["agg_0 frontend_0"]
EXAMPLES: dict[str, Said] = {
    # The first line speaks of four decode nodes, the recipe below it of one.
    "example": Said(
        "dynamo", "sglang", ["etcd prefill_0 nginx", "decode_0 frontend_0"],
        {"prefill_0": (6100, range(4)), "decode_0": (6100, range(4))}, "c256 c512",
        "lmsysorg+sglang+v0.5.5.post2.sqsh",
    ),
    "features.infra-services": DYNAMO._replace(nodes=["etcd nats", "agg_0 agg_1 frontend_0"]),
    "features.node-hooks": ROUTER,
    "features.observability-vllm": Said(
        "dynamo", "vllm",
        ["etcd agg_0 frontend_0 dcgm-exporter node-exporter process-exporter"],
        {"agg_0": (6100, range(2))}, "c4 c8", "/images/vllm.sqsh",
    ),
    "features.override_tp2": ROUTER._replace(nodes=SINGLE, workers={"agg_0": (6100, range(2))}),
    "features.override_context_0": ROUTER._replace(points="c4"),
    "features.override_context_1": ROUTER,
    "features.pools": Said(
        "sglang", "sglang", ["agg_0", "train watcher", "train watcher", "napper"],
        {"agg_0": (8000, range(8))}, "custom", "nvcr.io/nvidia/sglang:latest",
    ),
    "features.profiling": ROUTER._replace(nodes=SINGLE, workers={"agg_0": (6100, ONE)}, points="c4"),
    "features.services": ROUTER._replace(nodes=["agg_0 agg_1 frontend_0 log-browser"]),
    **{
        f"features.sweep_concurrency{load}_max_running_requests{most}": ROUTER._replace(points=f"c{load}")
        for load in (4, 8)
        for most in (16, 64)
    },
    "features.worker-restart": DYNAMO._replace(points="manual"),
    "mocker.aggregated": Said(
        "dynamo", "mocker", ["etcd nats agg_0 frontend_0"], {"agg_0": (6100, range(4))}, "c4", "dynamo-sglang"
    ),
    "mocker.dynamo-agg": Said(
        "dynamo", "mocker", ["etcd agg_0 frontend_0"], {"agg_0": (6100, range(8))}, "c4"
    ),
    "sglang.dynamo-agg": DYNAMO,
    "sglang.dynamo-disagg": DISAGG,
    "sglang.sglang-router-disagg": ROUTER._replace(nodes=["prefill_0 decode_0 frontend_0"], workers=SPLIT),
    "tilert.glm5-disagg": Said(
        "tilert-router", "vllm+tilert", ["prefill_0 frontend_0", "decode_0"],
        {"prefill_0": (6100, range(8)), "decode_0": (6100, range(8))}, "manual", "tilert-prefill",
    ),
    "trtllm.dynamo-disagg": DISAGG._replace(engine="trtllm", image="/images/trtllm.sqsh"),
    "trtllm.trtllm-serve-agg": Said(
        "trtllm_serve", "trtllm", ["agg_0"], {"agg_0": (8000, ONE)}, "c4 c8", "/images/trtllm.sqsh"
    ),
    "vllm.dynamo-disagg": DISAGG._replace(engine="vllm", image="/images/vllm.sqsh"),
    "vllm.vllm-router-agg": ROUTER._replace(
        frontend="vllm-router", engine="vllm", image="/images/vllm.sqsh"
    ),
}  # fmt: skip


def plans_of(file: Path, root: Path) -> list[Plan]:
    cluster = root / "cluster"
    cluster.write_text(CLUSTER)
    return [plan for _, plan in read_recipe_file(RecipeFile(str(file)), read_cluster(str(cluster)), root)]


@pytest.fixture(scope="module")
def plans(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plan]:
    """The plan of every configuration of the examples, by id."""
    root = tmp_path_factory.mktemp("examples")
    found: dict[str, Plan] = {}
    for file in sorted((corpus / "v2").rglob("*.yaml")):
        name, text = str(file.relative_to(corpus / "v2")), file.read_text()
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(migrate_text(text, name).text if name in WITHOUT_SCHEMA else text)
        of_file = plans_of(root / name, root)
        print(f"{name}: {len(of_file)} configurations")
        found |= {plan.configuration: plan for plan in of_file}
    return found


def step(plan: Plan, name: str) -> Step:
    return next(step for step in plan.steps if step.name == name)


def words(plan: Plan, name: str) -> str:
    return " ".join(step(plan, name).command.argv)


def test_all_twenty_load(corpus: Path, plans: dict[str, Plan]) -> None:
    files = {str(file.relative_to(corpus / "v2")) for file in (corpus / "v2").rglob("*.yaml")}
    read = {Path(plan.recipe).name for plan in plans.values()}
    print(f"\nexamples: {len(files)} of 20 files load and plan, {len(plans)} configurations")
    assert len(files) == 20
    assert {Path(name).name for name in files} == read
    assert set(plans) == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_topology_ports_frontend_and_points(plans: dict[str, Plan], name: str) -> None:
    plan, said = plans[name], EXAMPLES[name]
    head = plan.deployment.head
    assert (plan.frontend, plan.engine) == (said.frontend, said.engine)
    assert plan.slurm.nodes == len(said.nodes)
    held = [" ".join(one for one in node.holds if one not in ("head", "client")) for node in plan.nodes]
    assert held == said.nodes
    assert {n.name for n in plan.nodes if "head" in n.holds} == {head, plan.client}
    workers = {s.name: s for s in plan.steps if s.kind == "worker"}
    ports = {f"{p.mode}_{p.index}": p.http_port for p in plan.deployment.processes}
    assert {n: (ports[n], range(s.gpus[0], s.gpus[-1] + 1)) for n, s in workers.items()} == said.workers
    assert next(iter(workers.values())).image == said.image
    assert " ".join(point.id for point in plan.points) == said.points
    assert plan.public is not None
    assert (plan.public.node, plan.public.port) == (head, 8000)


@pytest.mark.parametrize("name", sorted(WITH_V1_KEYS))
def test_keys_of_v1_below_schema_2_are_folded_with_a_note(plans: dict[str, Plan], name: str) -> None:
    mine = [plan for plan in plans.values() if plan.recipe.endswith(name)]
    assert mine
    for plan in mine:
        assert plan.notes[0].startswith("written with keys of v1 (backend")
        assert plan.notes[0].endswith("); planned as `servesweep migrate` writes it")
        told = any("sglang is the router here" in note for note in plan.notes)
        assert told == (plan.frontend == "sglang-router")


def test_others_have_no_such_note(plans: dict[str, Plan]) -> None:
    others = [p for p in plans.values() if not any(p.recipe.endswith(name) for name in WITH_V1_KEYS)]
    assert len(others) == len(plans) - 9
    assert not [plan.configuration for plan in others if any("v1" in note for note in plan.notes)]


@pytest.mark.parametrize("name", sorted(WITHOUT_SCHEMA))
def test_without_schema_the_file_is_refused_and_migrate_is_named(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(RecipeError) as caught:
        plans_of(corpus / "v2" / name, tmp_path)
    told = str(caught.value)
    assert "this is a recipe of v1: `servesweep migrate " in told
    assert told.endswith("` writes it as schema 2")


def test_dynamo_routes_by_cache_and_nats_runs_only_for_its_planes(plans: dict[str, Plan]) -> None:
    for name in ("sglang.dynamo-agg", "sglang.dynamo-disagg", "trtllm.dynamo-disagg", "vllm.dynamo-disagg"):
        assert words(plans[name], "frontend_0") == (
            "python3 -m dynamo.frontend --http-port=8000 --router-mode kv"
        )
        assert [s.name for s in plans[name].steps if s.kind == "service"] == ["etcd"]
    nats = plans["mocker.aggregated"]
    assert step(nats, "agg_0").command.env["NATS_SERVER"] == "nats://ip-n0:4222"
    assert step(nats, "agg_0").command.env["DYN_REQUEST_PLANE"] == "nats"
    infra = plans["features.infra-services"]
    assert step(infra, "nats").command.files["<LOGS>/nats.conf"].count("max_payload: 25165824") == 1


def test_disaggregated_sglang_gets_its_modes_and_bootstrap_port(plans: dict[str, Plan]) -> None:
    for name in ("sglang.dynamo-disagg", "sglang.sglang-router-disagg"):
        prefill, decode = words(plans[name], "prefill_0"), words(plans[name], "decode_0")
        assert "--disaggregation-mode prefill --disaggregation-bootstrap-port 7200" in prefill
        assert "--disaggregation-mode decode" in decode
        assert "bootstrap" not in decode
    router = words(plans["sglang.sglang-router-disagg"], "frontend_0")
    assert router.startswith(
        "python3 -m sglang_router.launch_router --pd-disaggregation"
        " --prefill http://ip-n0:6100 7200 --decode http://ip-n0:6132"
    )


def test_workers_are_those_of_the_comments(plans: dict[str, Plan]) -> None:
    programs = {
        "sglang.dynamo-agg": "python3 -m dynamo.sglang --model-path /model",
        "features.services": "python3 -m sglang.launch_server --model-path /model",
        "vllm.dynamo-disagg": "python3 -m dynamo.vllm --model /model",
        "vllm.vllm-router-agg": "vllm serve /model",
        "trtllm.dynamo-disagg": "trtllm-llmapi-launch python3 -m dynamo.trtllm --model-path /model",
        "trtllm.trtllm-serve-agg": "trtllm-llmapi-launch trtllm-serve /model",
        "mocker.dynamo-agg": "python3 -m dynamo.mocker --model-path /model",
        "features.pools": "python3 -m sglang.launch_server --model-path Qwen/Qwen3-0.6B",
        "tilert.glm5-disagg": "vllm serve zai-org/GLM-5.1-FP8",
    }
    for name, begins in programs.items():
        first = next(s for s in plans[name].steps if s.kind == "worker")
        assert " ".join(first.command.argv).startswith(begins), name
    assert '"kv_connector":"NixlConnector"' in words(plans["vllm.dynamo-disagg"], "decode_0")
    transceiver = step(plans["trtllm.dynamo-disagg"], "decode_0").command.files
    assert "backend: UCX" in transceiver["<LOGS>/trtllm_config_decode.yaml"]
    assert "tilert.pd_vllm.decode_server" in words(plans["tilert.glm5-disagg"], "decode_0")
    assert step(plans["tilert.glm5-disagg"], "decode_0").image == "tilert-decode"
    assert step(plans["tilert.glm5-disagg"], "frontend_0").image == "tilert-router"


def test_routers_know_every_worker(plans: dict[str, Plan]) -> None:
    both = "--worker-urls http://ip-n0:6100 http://ip-n0:6132"
    for name, policy in (("features.services", "cache_aware"), ("vllm.vllm-router-agg", "consistent_hash")):
        assert both in words(plans[name], "frontend_0")
        assert f"--policy {policy}" in words(plans[name], "frontend_0")


def test_overrides_and_sweeps_change_what_they_name(plans: dict[str, Plan]) -> None:
    assert "--tensor-parallel-size 2" in words(plans["features.override_tp2"], "agg_0")
    for index, length in enumerate((2048, 8192)):
        argv = words(plans[f"features.override_context_{index}"], "agg_0")
        assert f"--context-length {length}" in argv
        assert "--mem-fraction-static 0.5" in argv
        kilo = length // 1024
        assert plans[f"features.override_context_{index}"].name == f"qwen3-0.6b-override-ctx{kilo}k"
    for name, plan in plans.items():
        if "max_running_requests" in name:
            most = name.rpartition("max_running_requests")[2]
            assert f"--max-running-requests {most}" in words(plan, "agg_0")


def test_features_are_in_the_plan_or_told(plans: dict[str, Plan]) -> None:
    profiling = step(plans["features.profiling"], "agg_0").command.env
    assert (profiling["PROFILE_AGG_START_STEP"], profiling["PROFILE_AGG_STOP_STEP"]) == ("0", "20")
    assert profiling["SGLANG_TORCH_PROFILER_DIR"] == "/logs/profiles/agg"
    (browser,) = plans["features.services"].resolved.services
    assert browser.readiness is not None
    assert (browser.readiness.port, browser.readiness.timeout_seconds) == (9911, 60)
    assert browser.inherit_discovery_env is False
    assert list(browser.command)[-3:] == ["9911", "--directory", "/logs"]
    restart = plans["features.worker-restart"].resolved.roles
    assert restart is not None
    assert restart.agg is not None
    policy = restart.agg.restart
    assert (policy.policy, policy.max_restarts, policy.backoff_seconds, policy.max_backoff_seconds) == (
        "on-failure", 2, 10, 60,
    )  # fmt: skip
    hooks = plans["features.node-hooks"].resolved.host_setup
    assert hooks is not None
    assert (hooks.nodes, hooks.timeout_seconds, hooks.ignore_failure) == ("workers", 120, True)
    assert step(plans["features.node-hooks"], "agg_0").command.env["HOOK_PRE_2"].startswith("sync; echo 3")
    observed: dict[str, Any] = {s.name: s for s in plans["features.observability-vllm"].services}
    assert all(observed[name].implied for name in ("etcd", "dcgm-exporter", "process-exporter"))
    pools = {s.name: s.on for s in plans["features.pools"].services}
    assert pools == {"train": ("n1", "n2"), "napper": ("n3",), "watcher": ("n1", "n2")}
