"""A planned configuration in a directory of its own, with the files that a run leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servesweep.evidence.files import RunFiles, keep_plan
from servesweep.plan.plan import Plan, plan_text
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.cluster import Cluster

RECIPE = """\
# What we serve on the test rack: keep in step with the wiki.
schema: 2
name: demo
model: {path: tiny, precision: fp16}  # small
engine: simulator
roles: {agg: {nodes: 1}}
frontend: {type: direct}
benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: 1x4x16}
"""


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """The plan of a recipe of three points."""
    monkeypatch.chdir(tmp_path)
    Path("demo.yaml").write_text(RECIPE)
    cluster = Cluster(launcher="local", cluster="bench", default_account="lab", default_partition="batch")
    return read_recipe_file(RecipeFile("demo.yaml"), cluster, Path())[0][1]


@pytest.fixture
def files(plan: Plan) -> RunFiles:
    """Its directory."""
    root = Path("results/demo")
    root.mkdir(parents=True)
    found = RunFiles(root)
    keep_plan(found, plan_text(plan), plan.recipe)
    return found


@pytest.fixture
def keep() -> Any:
    """Write a JSON file, with the directories on its way."""

    def write(path: Path, data: object) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data if isinstance(data, str) else json.dumps(data))

    return write
