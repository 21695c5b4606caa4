"""Whatever a recipe says: it is planned soundly, or refused in clear sentences."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.plan import Plan, plan_text
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.problems import Problem, RecipeError

REPOSITORY = Path(__file__).resolve().parents[3]
QUIET = settings(
    max_examples=150,
    deadline=None,
    # The same examples on every machine: what a longer search finds becomes a test of its own.
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

PAIRS = [
    ("simulator", "sglang-router"),
    ("simulator", "vllm-router"),
    ("mocker", "dynamo"),
    ("sglang", "dynamo"),
    ("sglang", "sglang-router"),
    ("vllm", "dynamo"),
]


def roles(gpus_per_node: int) -> st.SearchStrategy[dict[str, Any]]:
    role = st.fixed_dictionaries(
        {"nodes": st.integers(1, 6), "workers": st.integers(1, 8)},
        optional={"gpus": st.integers(1, 2 * gpus_per_node)},
    )
    colocated = st.fixed_dictionaries(
        {"nodes": st.just("colocate"), "workers": st.integers(1, 4), "gpus": st.integers(1, gpus_per_node)}
    )
    both = st.fixed_dictionaries({"prefill": role, "decode": st.one_of(role, colocated)})
    return st.one_of(both, st.fixed_dictionaries({"agg": role}))


@st.composite
def recipes(draw: st.DrawFn) -> dict[str, Any]:
    engine, frontend = draw(st.sampled_from(PAIRS))
    gpus = draw(st.sampled_from([1, 2, 4, 8]))
    spots = st.sampled_from(["head", "dedicated"])
    return {
        "schema": 2,
        "name": "any",
        "model": {"path": "tiny", "precision": "fp16", "container": "image"},
        "engine": engine,
        "resources": {"gpus_per_node": gpus, "spread_workers": draw(st.booleans())},
        "roles": draw(roles(gpus)),
        "frontend": {"type": frontend, "placement": {"node": draw(spots)}},
        "benchmark": {
            "type": "sa-bench",
            "isl": 8,
            "osl": 8,
            "concurrencies": draw(st.lists(st.integers(1, 64), min_size=1, max_size=4)),
            "placement": {"node": draw(spots)},
        },
    }


def plans(recipe: dict[str, Any], directory: Path, cluster: str) -> list[Plan]:
    file = directory / "any.yaml"
    # JSON is YAML.
    file.write_text(json.dumps(recipe, indent=1))
    found = read_recipe_file(
        RecipeFile(str(file)), read_cluster(str(REPOSITORY / "config" / cluster)), directory
    )
    return [plan for _, plan in found]


def claimed_ports(plan: Plan, address_of: dict[str, str]) -> Iterator[tuple[str, int]]:
    for process in plan.deployment.processes:
        own = {
            process.system_port,
            process.http_port,
            process.nccl_port,
            process.nixl_port,
            process.vllm_port,
        }
        if process.rank == 0:
            own |= {process.bootstrap_port, process.kv_events_port, process.dist_init_port}
        yield from ((address_of[process.node], port) for port in own if port is not None)
    if plan.public is not None:
        public = (address_of[plan.public.node], plan.public.port)
        served_by_worker = any(process.http_port == public[1] for process in plan.deployment.processes)
        yield from () if served_by_worker else (public,)


@pytest.mark.parametrize("cluster", ["cluster.yaml", "local.yaml"])
@QUIET
@given(recipe=recipes())
def test_a_plan_is_sound(recipe: dict[str, Any], cluster: str, tmp_path: Path) -> None:
    try:
        (plan,) = plans(recipe, tmp_path, cluster)
    except RecipeError:
        return
    processes = plan.deployment.processes
    gpus = Counter((process.node, gpu) for process in processes for gpu in process.gpus)
    assert not [gpu for gpu, count in gpus.items() if count > 1], "a GPU stands twice"
    assert all(gpu < plan.topology.gpus_per_node for _, gpu in gpus)

    one_address = {node.name: "localhost" if plan.launcher == "local" else node.name for node in plan.nodes}
    ports = Counter(claimed_ports(plan, one_address))
    assert not [port for port, count in ports.items() if count > 1], "a port stands twice on an address"

    for mode, role in recipe["roles"].items():
        workers = {p.index: 0 for p in processes if p.mode == mode}
        assert len(workers) == role["workers"]
        for process in processes:
            if process.mode == mode:
                workers[process.index] += len(process.gpus)
        assert all(held >= role.get("gpus", 1) for held in workers.values()), "a worker is not whole"

    own = sum(role["nodes"] for role in recipe["roles"].values() if role["nodes"] != "colocate")
    spots = [recipe["frontend"]["placement"]["node"], recipe["benchmark"]["placement"]["node"]]
    assert len(plan.nodes) == own + spots.count("dedicated") == plan.slurm.nodes
    assert len({point.id for point in plan.points}) == len(plan.points)
    assert plan_text(plan) == plan_text(plans(recipe, tmp_path, cluster)[0]), "planned twice, differently"


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from paths(item, (*path, key))


WRONG = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 10**9), st.floats(allow_nan=True), st.text(max_size=12),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
)  # fmt: skip


@QUIET
@given(recipe=recipes(), data=st.data())
def test_a_spoilt_recipe_is_planned_or_refused_but_never_a_crash(
    recipe: dict[str, Any], data: st.DataObject, tmp_path: Path
) -> None:
    spoilt = copy.deepcopy(recipe)
    *parents, last = data.draw(st.sampled_from(list(paths(recipe))))
    here = spoilt
    for step in parents:
        here = here[step]
    action = data.draw(st.sampled_from(["replace", "remove", "rename", "add"]))
    if action == "replace":
        here[last] = data.draw(WRONG)
    elif action == "remove":
        del here[last]
    elif action == "rename":
        here[f"{last}s"] = here.pop(last)
    else:
        here[data.draw(st.text(max_size=8))] = data.draw(WRONG)
    for problem in problems_of(spoilt, tmp_path):
        assert problem.file.endswith("any.yaml")
        assert problem.message.strip()
        assert "\n" not in str(problem)


def problems_of(recipe: dict[str, Any], directory: Path) -> tuple[Problem, ...]:
    try:
        plans(recipe, directory, "cluster.yaml")
    except RecipeError as error:
        return error.problems
    return ()
