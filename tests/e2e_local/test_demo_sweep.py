"""The demo as it is shipped: everything is there, and nothing is measured twice."""

from __future__ import annotations

import csv
import itertools
import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
import yaml

REPOSITORY = Path(__file__).parents[2]
CONFIGURATIONS = ["demo_tp1", "demo_tp2", "demo_tp4"]
POINTS = ["c1", "c4", "c16"]
NOTHING = "Nothing to be done"


@pytest.fixture(scope="session")
def finished(new_project: Callable[[str], Any]) -> Any:
    project = new_project("demo")
    shutil.copy(REPOSITORY / "config/recipes/demo.yaml", project.root / "config/recipes")
    project.output = project.snakemake()
    return project


@pytest.fixture
def demo(finished: Any, tmp_path: Path) -> Any:
    """A copy of the finished sweep, times and all."""
    shutil.copytree(finished.root, tmp_path / "project", symlinks=True)
    return type(finished)(tmp_path / "project")


def measured(project: Any) -> dict[str, tuple[bytes, int]]:
    """Every result and record: bytes and time."""
    root = project.root / "results"
    names = project.files("*/points/*/*") + project.files("*/run.json") + project.files("*/health.json")
    return {name: ((root / name).read_bytes(), (root / name).stat().st_mtime_ns) for name in names}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_every_point_of_every_configuration_is_valid(finished: Any) -> None:
    assert finished.output.returncode == 0, finished.output.stdout
    rows = list(csv.DictReader((finished.root / "results/summary.csv").open()))
    assert sorted((row["configuration"], row["point"]) for row in rows) == sorted(
        (configuration, point) for configuration in CONFIGURATIONS for point in POINTS
    )
    assert {row["status"] for row in rows} == {"valid"}


def test_the_first_run_warns_of_nothing(finished: Any) -> None:
    assert "warning" not in finished.output.stdout.lower()


def test_prompts_are_made_with_the_tokenizer_of_the_model(finished: Any) -> None:
    for configuration in CONFIGURATIONS:
        result = finished.json(f"{configuration}/points/c4/result.json")
        assert not [note for note in result["notes"] if "tokenizer" in note]
        # The server counts with the same tokenizer: 20 prompts of 51 to 64 tokens.
        assert 20 * 51 <= result["tokens"]["input"] <= 20 * 64


def test_a_point_that_was_deleted_and_a_broken_record_are_noticed(demo: Any) -> None:
    shutil.rmtree(demo.root / "results/demo_tp2/points/c4")
    (demo.root / "results/demo_tp4/run.json").write_text("{")
    before = measured(demo)
    again = demo.snakemake()
    assert again.returncode == 0, again.stdout
    after = measured(demo)
    assert demo.json("demo_tp2/points/c4/result.json")["valid"] is True
    assert demo.json("demo_tp4/run.json")["points"] == POINTS
    points = {name: kept for name, kept in before.items() if "/points/" in name}
    assert {name: after[name] for name in points} == points


def test_every_file_of_the_results_layout_is_there(finished: Any) -> None:
    for name in ("summary.csv", "report.html", "pareto.svg", "pareto.png", "sweep.json"):
        assert finished.exists(name), name
    for configuration in CONFIGURATIONS:
        for name in ("plan.json", "deployment.json", "allocation.json", "health.json", "run.json"):
            assert finished.json(f"{configuration}/{name}"), name
        assert not finished.exists(f"{configuration}/failure.json")
        for point in POINTS:
            assert finished.json(f"{configuration}/points/{point}/result.json")["valid"] is True
            assert finished.exists(f"{configuration}/logs/benchmark_{point}.log")
        for name in ("allocation.log", "health_gate.log", "n0_agg_w0.out", "resource_snapshot.json"):
            assert finished.exists(f"{configuration}/logs/{name}"), name
        assert (finished.root / f"results/{configuration}/run.log").read_text().count(
            "every point is valid"
        ) == 1


def test_points_are_measured_in_the_order_of_the_plan(finished: Any) -> None:
    for configuration in CONFIGURATIONS:
        times = [
            (finished.root / f"results/{configuration}/points/{point}/result.json").stat().st_mtime_ns
            for point in POINTS
        ]
        assert times == sorted(times)


def test_configurations_run_one_after_the_other_in_the_order_of_the_table(finished: Any) -> None:
    spans = [
        (run["started_at"], run["finished_at"])
        for run in (finished.json(f"{configuration}/run.json") for configuration in CONFIGURATIONS)
    ]
    assert all(earlier[1] <= later[0] for earlier, later in itertools.pairwise(spans))


def test_the_lockfile_is_the_recipe_with_its_comments_and_the_results(finished: Any) -> None:
    text = (finished.root / "results/demo_tp4/recipe.lock.yaml").read_text()
    assert text.startswith((REPOSITORY / "config/recipes/demo.yaml").read_text().rstrip())
    results = yaml.safe_load(text)["lock"]["results"]
    assert list(results) == POINTS
    assert all(result["status"] == "valid" and result["p99_ttft_ms"] > 0 for result in results.values())


def test_the_second_time_there_is_nothing_to_be_done(demo: Any) -> None:
    again = demo.snakemake()
    assert (again.returncode, NOTHING in again.stdout) == (0, True)


@pytest.mark.long
def test_a_space_in_a_shell_command_measures_nothing(demo: Any) -> None:
    edit(demo.root / "workflow/rules/submission.smk", "servesweep run results", "servesweep  run results")
    again = demo.snakemake()
    assert (again.returncode, NOTHING in again.stdout) == (0, True)


def test_a_comment_in_the_recipe_measures_nothing(demo: Any) -> None:
    edit(demo.root / "config/recipes/demo.yaml", "# Three", "# Exactly three")
    again = demo.snakemake()
    assert (again.returncode, NOTHING in again.stdout) == (0, True)


def test_a_changed_value_measures_its_configuration_alone(demo: Any) -> None:
    before = measured(demo)
    edit(demo.root / "config/recipes/demo.yaml", "ttft-ms: 45, itl-ms: 12", "ttft-ms: 20, itl-ms: 3")
    again = demo.snakemake()
    assert again.returncode == 0, again.stdout
    after = measured(demo)
    changed = {name.split("/")[0] for name in before if after[name] != before[name]}
    assert changed == {"demo_tp2"}
    assert all(f"demo_tp2/points/{p}/result.stale.json" in after for p in POINTS)
    # The old logs are evidence of the old numbers.
    assert demo.exists("demo_tp2/logs.1/n0_agg_w0.out")
    assert demo.snakemake().stdout.count(NOTHING) == 1


def test_removing_a_configuration_s_directory_measures_it_alone_again(demo: Any) -> None:
    before = measured(demo)
    shutil.rmtree(demo.root / "results/demo_tp4")
    again = demo.snakemake()
    assert again.returncode == 0, again.stdout
    after = measured(demo)
    assert {name.split("/")[0] for name in before if after.get(name) != before[name]} == {"demo_tp4"}


def test_a_dry_run_writes_nothing_and_removes_no_lock(demo: Any) -> None:
    edit(demo.root / "config/recipes/demo.yaml", "ttft-ms: 45", "ttft-ms: 46")
    lock = demo.write(".snakemake/locks/0.input.lock", "")
    demo.write(
        ".snakemake/servesweep-controllers/gone.json",
        json.dumps({"host": socket.gethostname(), "pid": 1, "started": -1}),
    )
    results = demo.root / "results"
    before = {path: path.stat().st_mtime_ns for path in results.rglob("*")}
    done = demo.snakemake("-n")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("rule run:") == 1
    assert {path: path.stat().st_mtime_ns for path in results.rglob("*")} == before
    assert lock.exists()


def test_plan_prints_the_node_maps(demo: Any) -> None:
    done = demo.snakemake("plan")
    assert done.returncode == 0, done.stdout
    for configuration in CONFIGURATIONS:
        assert configuration in done.stdout
    assert "agg_0" in done.stdout


def test_report_of_partial_results_tells_what_is_missing(demo: Any) -> None:
    shutil.rmtree(demo.root / "results/demo_tp1/points/c4")
    (demo.root / "results/summary.csv").unlink()
    done = demo.snakemake("report")
    assert done.returncode == 0, done.stdout
    rows = {(r["configuration"], r["point"]): r["status"] for r in _rows(demo)}
    assert rows.pop(("demo_tp1", "c4")) == "not run"
    assert set(rows.values()) == {"valid"}
    typed = pandas.read_parquet(demo.root / "results/summary.parquet")
    assert typed.set_index(["configuration", "point"])["status"].to_dict() == rows | {
        ("demo_tp1", "c4"): "not run"
    }


@pytest.mark.long
def test_a_price_measures_nothing_again_and_tells_what_tokens_cost(demo: Any) -> None:
    before = measured(demo)
    with (demo.root / "config/local.yaml").open("a") as cluster:
        cluster.write("gpu_hour_price: {virtual: 2.0}\n")
    done = demo.snakemake()
    assert done.returncode == 0, done.stdout
    assert measured(demo) == before
    for row in _rows(demo):
        per_hour = float(row["output_tok_s_per_gpu"]) * 3600
        assert float(row["cost_usd_per_million_output_tokens"]) == pytest.approx(2.0 / per_hour * 1e6)
    assert NOTHING in demo.snakemake().stdout


@pytest.mark.long
def test_snakemakes_own_report_holds_the_table_and_the_figures_with_their_captions(demo: Any) -> None:
    shutil.rmtree(demo.root / "results/demo_tp1")
    done = demo.snakemake("--report", "own.html")
    assert done.returncode == 0, done.stdout
    page = (demo.root / "own.html").read_text()
    for name in ("report.html", "summary.csv", "pareto.svg", "latency.svg", "throughput.svg"):
        assert f"Adding {name}" in done.stdout
    assert "Output tokens per second and GPU against output tokens per second and user" in page
    assert "A sweep of LLM serving benchmarks." in page


def test_report_before_anything_was_run(project: Any) -> None:
    shutil.copy(REPOSITORY / "config/recipes/demo.yaml", project.root / "config/recipes")
    done = project.snakemake("report")
    assert done.returncode == 0, done.stdout
    assert {row["status"] for row in _rows(project)} <= {"not run"}
    assert (project.root / "results/report.html").exists()


def _rows(project: Any) -> list[dict[str, str]]:
    return list(csv.DictReader((project.root / "results/summary.csv").open()))
