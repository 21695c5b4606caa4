"""The lockfile: the recipe as it was written, and what came of it."""

import getpass
import json
from pathlib import Path
from typing import Any

import yaml

from servesweep.evidence.files import RunFiles, keep_plan
from servesweep.evidence.lockfile import integrity, recipe_text, write_lockfile
from servesweep.plan.plan import Plan, plan_text
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file

SNAPSHOT = {"version": 1, "slurm_environment": {"SLURM_CPUS_ON_NODE": "8"}}
METRICS = {
    "output_throughput_tok_s": 1234.5,
    "output_tok_s_per_gpu": 154.3,
    "output_tok_s_per_user": 77.25,
    "p99_ttft_ms": 41.5,
    "p99_itl_ms": 9.75,
    "p50_ttft_ms": 30.0,
}


def measured(files: RunFiles, plan: Plan, keep: Any) -> None:
    """Two of three points, on one node."""
    keep(
        files.allocation,
        {
            "job_id": "17",
            "hosts": [{"name": "n0", "host": "gpu07"}, {"name": "n1", "host": "gpu08"}],
            "project": "/lab/sweeps",
        },
    )
    keep(files.logs / "resource_snapshot.json", SNAPSHOT)
    for point in plan.points[:2]:
        keep(files.result(point.id), {"valid": True, "digest": point.digest, "metrics": METRICS})
    keep(files.invalid("c16"), {"reasons": ["3 of 160 requests failed"]})
    keep(files.failure, {"message": "point c16 does not count: 3 of 160 requests failed"})


def lock_of(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(path.read_text())["lock"]
    return data


def test_the_recipe_stands_in_it_as_it_was_written_with_its_comments(plan: Plan, files: RunFiles) -> None:
    path = write_lockfile(files.root, plan)
    assert path == Path("results/demo/recipe.lock.yaml")
    assert path.read_text().startswith(Path("demo.yaml").read_text() + "\nlock:\n")


def test_it_holds_the_recipe_that_was_planned_and_not_what_it_became_meanwhile(
    plan: Plan, files: RunFiles
) -> None:
    planned = Path("demo.yaml").read_text()
    Path("demo.yaml").write_text(planned.replace("1x4x16", "64"))
    assert write_lockfile(files.root, plan).read_text().startswith(planned + "\nlock:\n")


def test_what_came_of_it(plan: Plan, files: RunFiles, keep: Any) -> None:
    measured(files, plan, keep)
    lock = lock_of(write_lockfile(files.root, plan))
    rate = {"request_rate": "inf", "repeat": 0}
    assert lock["results"] == {
        "c1": {"status": "valid", "concurrency": 1, **rate, **METRICS},
        "c4": {"status": "valid", "concurrency": 4, **rate, **METRICS},
        "c16": {"status": "not valid", "reason": "3 of 160 requests failed", "concurrency": 16, **rate},
    }
    assert lock["failure"] == "point c16 does not count: 3 of 160 requests failed"
    assert lock["resource_snapshot"] == SNAPSHOT
    assert lock["slurm"] == {
        "job_id": "17",
        "job_name": "demo",
        "cluster": "bench",
        "account": "lab",
        "partition": "batch",
        "nodelist": "gpu07,gpu08",
        "num_nodes": 1,
        "gpus_per_node": 8,
        "cpus_on_node": "8",
        "time_limit": None,
        "user": getpass.getuser(),
        "cwd": "/lab/sweeps",
    }
    assert (lock["configuration"], lock["variant"], lock["digest"]) == ("demo", None, plan.digest)


def test_a_run_that_left_nothing_has_a_lockfile_too(plan: Plan, files: RunFiles) -> None:
    lock = lock_of(write_lockfile(files.root, plan))
    assert {point["status"] for point in lock["results"].values()} == {"not valid"}
    assert {point["reason"] for point in lock["results"].values()} == {"no result"}
    assert (lock["slurm"]["job_id"], lock["slurm"]["nodelist"]) == (None, None)
    assert lock["resource_snapshot"] is None


def test_a_result_of_another_load_is_not_taken_in(plan: Plan, files: RunFiles, keep: Any) -> None:
    keep(files.result("c1"), {"valid": True, "digest": "0" * 16, "metrics": METRICS})
    assert lock_of(write_lockfile(files.root, plan))["results"]["c1"]["status"] == "not valid"


def test_its_integrity_can_be_computed_again_and_tells_a_change(
    plan: Plan, files: RunFiles, keep: Any
) -> None:
    measured(files, plan, keep)
    path = write_lockfile(files.root, plan)
    lock = lock_of(path)
    assert lock["integrity"] == integrity(lock)
    path.write_text(path.read_text().replace("1234.5", "1234.6", 1))
    changed = lock_of(path)
    assert changed["integrity"] != integrity(changed)


def test_an_old_lock_is_left_out_wherever_it_stands(plan: Plan, files: RunFiles) -> None:
    recipe = Path("demo.yaml").read_text()
    head, tail = recipe[: recipe.index("engine:")], recipe[recipe.index("engine:") :]
    old = "lock:\n  version: 1\n\n  notes:\n  - a\n  text: |\n    b\n\n    c\n"
    for text in (recipe + "\n" + old, old + recipe, head + old + tail, recipe + "lock: {version: 1}\n"):
        Path("demo.yaml").write_text(text)
        again = recipe_text(Path("demo.yaml"), plan)
        assert yaml.safe_load(again) == yaml.safe_load(recipe)
        assert "wiki" in again
        assert "lock" not in again


def test_a_recipe_in_braces_becomes_a_block_that_a_lock_can_follow(plan: Plan, files: RunFiles) -> None:
    recipe = {**yaml.safe_load(Path("demo.yaml").read_text()), "lock": {"version": 1}}
    files.recipe.write_text(json.dumps(recipe))
    data = yaml.safe_load(write_lockfile(files.root, plan).read_text())
    assert data.pop("lock")["version"] == 2
    assert data == {key: value for key, value in recipe.items() if key != "lock"}


def test_a_lockfile_of_a_lockfile_is_the_same_recipe(plan: Plan, files: RunFiles) -> None:
    first = write_lockfile(files.root, plan)
    Path("again.yaml").write_text(first.read_text())
    ((_, again),) = read_recipe_file(RecipeFile("again.yaml"), plan.cluster, Path())
    assert again.digest == plan.digest
    keep_plan(files, plan_text(again), again.recipe)
    second = write_lockfile(files.root, again)
    assert second.read_text().count("lock:") == 1
    assert second.read_text().startswith(Path("demo.yaml").read_text())


def test_where_the_recipe_is_gone_the_resolved_one_stands_in_it(plan: Plan, files: RunFiles) -> None:
    files.recipe.unlink()
    path = write_lockfile(files.root, plan)
    data = yaml.safe_load(path.read_text())
    assert (data["schema"], data["name"], data["benchmark"]["concurrencies"]) == (2, "demo", "1x4x16")
    assert data["roles"] == {"agg": {"nodes": 1}}
    data.pop("lock")
    Path("back.yaml").write_text(path.read_text())
    ((_, again),) = read_recipe_file(RecipeFile("back.yaml"), plan.cluster, Path())
    assert again.digest == plan.digest


def test_values_set_from_the_command_line_stand_beside_the_recipe(plan: Plan, files: RunFiles) -> None:
    settings = ("benchmark.osl=16", "roles.agg.args.seed=7")
    ((_, changed),) = read_recipe_file(RecipeFile("demo.yaml"), plan.cluster, Path(), settings)
    assert changed.digest != plan.digest
    lock = lock_of(write_lockfile(files.root, changed))
    assert lock["settings"] == list(settings)
    assert lock["digest"] == changed.digest
