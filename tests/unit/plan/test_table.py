"""The table inside a job: what the rules ask of the one configuration, from its plan's file alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from servesweep.evidence.files import RunFiles
from servesweep.evidence.points import is_finished
from servesweep.plan.plan import plan_text
from servesweep.plan.row import PlanError, read_row
from servesweep.plan.sweep_table import SweepTable
from servesweep.plan.table import Table

REPOSITORY = Path(__file__).parents[3]
RECIPE = """\
schema: 2
name: one
model: {path: /m, precision: fp8}
engine: sglang
roles: {agg: {nodes: 2, workers: 1, gpus: 16, args: {tensor-parallel-size: 16}}}
frontend: {type: direct}
slurm: {time_limit: "01:00:00"}
benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: [1, 4]}
"""
SITE = "default_partition: gpu\ndefault_account: me\npreflight: false\n"
ASKED = (
    "nodes", "tasks_per_node", "cpus_per_task", "mem_mb", "runtime", "slurm_account", "slurm_partition",
    "slurm_extra", "constraint", "qos", "gres",
)  # fmt: skip
ONE: Any = SimpleNamespace(configuration="one")


@pytest.fixture
def whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SweepTable:
    """The table of a sweep of one configuration, whose plan is written."""
    monkeypatch.chdir(tmp_path)
    Path("config/recipes").mkdir(parents=True)
    Path("config/recipes/one.yaml").write_text(RECIPE)
    Path("site.yaml").write_text(SITE)
    table = SweepTable.from_config({"recipes": "config/recipes/one.yaml", "cluster": "site.yaml"})
    Path("results/one").mkdir(parents=True)
    Path("results/one/plan.json").write_text(plan_text(table.plans["one"]))
    return table


def test_a_job_answers_every_rule_as_the_whole_sweep_does(whole: SweepTable) -> None:
    Path("config/recipes/one.yaml").unlink()
    inside = Table("site.yaml")
    for name, asked in {name: inside.resource(name) for name in ASKED}.items():
        assert asked(ONE) == whole.request(name)(ONE) == whole.resource(name), name
    assert inside.digest(ONE) == whole.digest(ONE)
    assert inside.launcher(ONE) == whole.launcher(ONE) == "slurm"
    assert inside.record(ONE) == whole.record(ONE) == Path("results/.validated/one.json")
    assert (inside.records(), inside.run_records(), inside.share_of_quota()) == (
        [],
        [Path("results/one/run.json")],
        0,
    )


def test_a_job_knows_a_finished_configuration_from_its_row(whole: SweepTable) -> None:
    files, row = RunFiles(Path("results/one")), read_row(Path("results/one/plan.json"))
    assert not is_finished(files, row)
    for point in row.points:
        files.result(point.id).parent.mkdir(parents=True)
        files.result(point.id).write_text(f'{{"valid": true, "digest": "{point.digest}"}}')
    files.run.write_text(f'{{"digest": "{row.digest}"}}')
    assert is_finished(files, row)
    assert is_finished(files, whole.plans["one"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "plan.json: no such plan; `snakemake plan` writes it"),
        ("{", "plan.json: not a plan of this version (Expecting property name"),
        ("[]", "plan.json: not a plan of this version ('list' object has no attribute 'digest')"),
        ('{"digest": ""}', "plan.json: not a plan of this version ("),
    ],
)
def test_a_row_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("plan.json").write_text(text)
    with pytest.raises(PlanError) as caught:
        read_row(Path("plan.json"))
    assert str(caught.value).startswith(sentence)


def test_a_job_loads_neither_the_planner_nor_its_models() -> None:
    """Every job of Slurm reads the Snakefile twice, and the nodes of the whole job wait for it."""
    lines = (REPOSITORY / "workflow/rules/common.smk").read_text().partition("\n# ")[0]
    modules = [node.module for node in ast.parse(lines).body if isinstance(node, ast.ImportFrom)]
    assert "servesweep.plan.table" in modules
    code = (
        f"import sys, {', '.join(map(str, modules))}; print('pydantic' in sys.modules, 'yaml' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False False\n"
