"""Every command of the pages on lockfiles and comparisons does what the page says."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.commands import commands, shell

from servesweep.plan.locked import tampered

pytestmark = pytest.mark.long

DOCS = Path(__file__).resolve().parents[2] / "docs"
QUICK = """\
# How fast is a lone worker?
schema: 2
base:
  name: demo
  model: {path: tiny, precision: fp16}
  engine: simulator
  resources: {gpus_per_node: 2}
  roles: {agg: {nodes: 1, workers: 1, gpus: 1, args: {ttft-ms: 20, itl-ms: 2}}}
  frontend: {type: direct}
  health_check: {max_attempts: 600, interval_seconds: 0.1}
  identity: {frameworks: {click: CLICK, vllm: "0.0.1"}}
  benchmark: {type: sa-bench, isl: 8, osl: 4, concurrencies: "1", repeats: 2, num_prompts_mult: 2,
    num_warmup_mult: 0}
override_tp4: {}
"""


@pytest.fixture(scope="module")
def measured(new_project: Any) -> Any:
    """A project with one small configuration, `demo_tp4`, measured, and a copy of its results as baseline."""
    from importlib.metadata import version

    project = new_project("pages")
    text = QUICK.replace("CLICK", f'"{version("click")}"')
    for name in ("demo", "gate"):
        project.write(f"config/recipes/{name}.yaml", text.replace("name: demo", f"name: {name}"))
    done = project.snakemake("--config", "recipes=config/recipes/demo.yaml")
    assert done.returncode == 0, done.stdout
    shutil.copytree(project.root / "results", project.root / "baseline")
    return project


@pytest.fixture(scope="module")
def page_of_lockfiles(measured: Any) -> dict[str, subprocess.CompletedProcess[str]]:
    """Its commands, typed in their order."""
    return {command: shell(measured.root, command) for command in commands("docs/lockfile.md")}


def test_the_lock_of_a_finished_run_is_filled(measured: Any) -> None:
    text = (measured.root / "results/demo_tp4/recipe.lock.yaml").read_text()
    assert text.startswith("# How fast is a lone worker?\nschema: 2\n")
    lock = yaml.safe_load(text)["lock"]
    assert {point: result["status"] for point, result in lock["results"].items()} == {
        "c1": "valid", "c1-k1": "valid",
    }  # fmt: skip
    assert lock["results"]["c1-k1"]["repeat"] == 1
    assert lock["fingerprints"]["agg_w0"]["pip_packages"]
    assert lock["verification"] == {
        "result": "OK", "verified": 1, "declared": 1, "failed": 0,
        "checks": lock["verification"]["checks"],
    }  # fmt: skip
    assert (
        "identity: OK (1 verified, 1 declared only, 0 failed)"
        in (measured.root / "results/demo_tp4/run.log").read_text()
    )


def test_every_command_of_the_page_on_lockfiles_works(page_of_lockfiles: Any) -> None:
    assert {command: done.stdout for command, done in page_of_lockfiles.items() if done.returncode} == {}
    assert len(page_of_lockfiles) == 6


def test_a_lockfile_runs_again_beside_the_first_run_and_tells_what_differs(
    measured: Any, page_of_lockfiles: Any
) -> None:
    report = page_of_lockfiles["cat results/demo_tp4.again/logs/reproduction-report.txt"].stdout
    assert report.startswith("Reproduction of demo_tp4, locked ")
    for part in ("plan", "software and machine", "servesweep"):
        assert f"\n{part}: the same\n" in report
    assert "  c1: output_throughput_tok_s: " in report
    first, again = (
        json.loads((measured.root / f"results/{name}/plan.json").read_text())
        for name in ("demo_tp4", "demo_tp4.again")
    )
    assert {key for key in first if first[key] != again[key]} == {"configuration"}
    told = page_of_lockfiles["servesweep diff results/demo_tp4 results/demo_tp4.again"].stdout
    for part in ("recipe", "plan", "cluster file", "slurm", "fingerprints"):
        assert f"{part}: the same\n" in told
    # The second time there is nothing to do.
    (again_command,) = (command for command in page_of_lockfiles if command.startswith("snakemake"))
    assert "Nothing to be done" in shell(measured.root, f"{again_command} --dry-run").stdout


def test_a_tampered_lockfile_is_refused_where_it_would_be_run(measured: Any) -> None:
    lock = (measured.root / "results/demo_tp4/recipe.lock.yaml").read_text()
    measured.write("tampered.yaml", lock.replace("status: valid", "status: better", 1))
    done = measured.servesweep("validate", "tampered.yaml", "--cluster", "config/local.yaml")
    assert done.returncode == 1
    assert "lock: the lock was changed after it was written: its integrity digest does not fit" in done.stdout


@pytest.mark.parametrize("command", commands("docs/compare.md"))
def test_every_command_of_the_page_on_comparisons_works(measured: Any, command: str) -> None:
    # The results are those of the baseline.
    shutil.rmtree(measured.root / "results")
    shutil.copytree(measured.root / "baseline", measured.root / "results")
    done = shell(measured.root, command)
    assert done.returncode == 0, done.stdout
    if command.startswith("servesweep"):
        assert "0 regressions, 0 improvements, 0 within noise, 8 within tolerance" in done.stdout


def test_the_steps_of_the_ci_example_pass_with_the_same_numbers_and_fail_with_worse_ones(
    measured: Any,
) -> None:
    page = (DOCS / "compare.md").read_text()
    (block,) = re.findall(r"^```yaml\n(name: serving.*?)^```$", page, re.MULTILINE | re.DOTALL)
    steps = yaml.safe_load(block)["jobs"]["gate"]["steps"]
    runs = {step["name"]: step["run"] for step in steps if "run" in step}
    measure, compare = runs["Measure"], runs["Compare"]
    # What it would measure has been measured.
    planned = shell(measured.root, f"{measure} --dry-run")
    assert planned.returncode == 0, planned.stdout
    assert "results/gate_tp4/run.json" in planned.stdout
    shutil.rmtree(measured.root / "results")
    shutil.copytree(measured.root / "baseline", measured.root / "results")
    summary = measured.root / "step-summary.md"
    same = shell(measured.root, compare, GITHUB_STEP_SUMMARY=str(summary))
    assert same.returncode == 0, same.stdout
    # So much that no scatter of two repeats on a busy machine explains it.
    for repeat in ("c1", "c1-k1"):
        path = measured.root / f"results/demo_tp4/points/{repeat}/result.json"
        result = json.loads(path.read_text())
        path.write_text(json.dumps({**result, "metrics": {**result["metrics"], "p50_ttft_ms": 1e7}}))
    worse = shell(measured.root, compare, GITHUB_STEP_SUMMARY=str(summary))
    assert worse.returncode == 1, worse.stdout
    assert "**1 regression, 0 improvements, 0 within noise, 7 within tolerance**" in summary.read_text()
    assert "| demo_tp4 | c1 | p50_ttft_ms |" in summary.read_text()
    assert (measured.root / "comparison/compare.svg").read_text().startswith("<svg")
    assert "<script" not in (measured.root / "comparison/compare.html").read_text()


def test_it_is_written_when_a_run_starts_and_completed_when_it_fails(quick: Any, eventually: Any) -> None:
    quick.recipe({"ttft-ms": 60000})
    run = quick.start()
    eventually(lambda: quick.exists("logs/fingerprint_agg_w0.json"))
    path = quick.project.root / "results/quick/recipe.lock.yaml"
    first = yaml.safe_load(path.read_text())["lock"]
    assert (first["fingerprints"], first["failure"]) == ({}, None)
    assert {result["status"] for result in first["results"].values()} == {"not valid"}
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=120)
    lock = yaml.safe_load(path.read_text())["lock"]
    assert lock["failure"] == "stopped by SIGTERM"
    assert list(lock["fingerprints"]) == ["agg_w0"]
    assert tampered(yaml.safe_load(path.read_text())) is None
