"""Every command of the README, the tutorial and the pages beside them does what the page says."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.commands import TYPED, commands, shell, yaml_blocks

REPOSITORY = Path(__file__).resolve().parents[2]
SMALL = """\
schema: 2
base:
  name: demo
  model: {path: tiny, precision: fp16}
  engine: simulator
  resources: {gpus_per_node: 2}
  roles: {agg: {nodes: 1, workers: 1, gpus: 1, args: {ttft-ms: 10, itl-ms: 2}}}
  frontend: {type: direct}
  health_check: {max_attempts: 600, interval_seconds: 0.1}
  benchmark: {type: sa-bench, isl: 8, osl: 4, concurrencies: "1", num_prompts_mult: 2, num_warmup_mult: 0}
override_tp4: {}
"""
V1 = """\
name: old
model: {path: tiny, container: "lmsysorg/sglang:v0.5.5", precision: bf16}
resources: {gpu_type: h100, gpus_per_node: 8, agg_nodes: 1, agg_workers: 1}
backend: {type: sglang, sglang_config: {aggregated: {tensor-parallel-size: 8}}}
benchmark: {type: sa-bench, isl: 1024, osl: 1024, concurrencies: "4x16"}
"""
Typed = tuple[str, subprocess.CompletedProcess[str]]


def typed(project: Any, page: str) -> Iterator[Typed]:
    """The commands of a page that are typed here, in their order, each with what came of it."""
    for command in commands(page):
        if TYPED.get((page, command)) == Path(__file__).name:
            yield command, shell(project.root, command)


def rows_of(table: str) -> int:
    """Valid points in what a sweep prints at its end."""
    return sum(line.startswith("mine_") and " valid" in line for line in table.splitlines())


@pytest.fixture(scope="module")
def tutorial(new_project: Any) -> list[Typed]:
    project = new_project("tutorial")
    (recipe,) = yaml_blocks("docs/tutorial.md")
    project.write("config/recipes/mine.yaml", recipe)
    project.write("config/recipes/demo.yaml", SMALL)
    return list(typed(project, "docs/tutorial.md"))


def test_the_tutorial_goes_as_it_says(tutorial: list[Typed]) -> None:
    told = [(command.split()[0], done.returncode, done.stdout) for command, done in tutorial]
    assert [(program, code) for program, code, _ in told] == [
        ("servesweep", 0), ("servesweep", 0), ("snakemake", 0), ("snakemake", 0),
        ("sed", 0), ("snakemake", 0),
        ("cp", 0), ("sed", 0), ("snakemake", 0), ("servesweep", 1),
        ("sed", 0), ("snakemake", 1),
        ("snakemake", 0),
    ], told  # fmt: skip
    texts = [text for _, _, text in told]
    assert "mine_fast" in texts[0]
    assert "--itl-ms" in texts[1]
    assert "mine_slow" in texts[2]
    # The table at the end: four points, and six where a load was added.
    assert [rows_of(texts[run]) for run in (3, 5)] == [4, 6]
    assert "mine_fast" in texts[9]
    assert "mine_slow" not in "".join(line for line in texts[9].splitlines() if "worse" in line)
    page = (REPOSITORY / "docs/tutorial.md").read_text()
    mistake = "config/recipes/mine.yaml:8: roles.agg.worker: unknown key; did you mean workers?"
    assert mistake in page
    assert mistake in texts[11]
    assert "demo_tp4" in texts[12]
    assert "sbatch" in texts[12]


@pytest.fixture(scope="module")
def readme(new_project: Any) -> list[Typed]:
    """Its commands, and then those of the pages that look at the same results."""
    project = new_project("readme")
    project.write("config/recipes/demo.yaml", SMALL)
    project.write("old-recipes/old.yaml", V1)
    shutil.copytree(REPOSITORY / "config/recipes/features", project.root / "config/recipes/features")
    pages = ("README.md", "docs/status.md", "docs/numbers.md", "docs/sweeps.md", "docs/from-srt-slurm.md")
    return [one for page in pages for one in typed(project, page)]


def test_the_commands_of_the_readme_and_of_pages_on_results_work(readme: list[Typed]) -> None:
    failed = [(command, done.stdout) for command, done in readme if done.returncode]
    assert failed == []
