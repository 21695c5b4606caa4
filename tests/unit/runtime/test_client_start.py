"""The client of every open point is ready before the first point is measured, unless it needs a secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from servesweep.evidence.files import RunFiles
from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.plan import Plan
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.runtime.allocation import Allocation, Host
from servesweep.runtime.client_start import kept_client
from servesweep.runtime.measuring import client_words, ready_clients

RECIPE = """\
schema: 2
name: demo
model: {path: tiny, precision: fp16}
engine: simulator
roles: {agg: {nodes: 1}}
frontend: {type: direct}
benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: "1x2x4"}
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFiles:
    monkeypatch.chdir(tmp_path)
    return RunFiles(tmp_path / "results/demo")


def planned(text: str = RECIPE) -> Plan:
    Path("demo.yaml").write_text(text)
    Path("site.yaml").write_text("launcher: local\n")
    return read_recipe_file(RecipeFile("demo.yaml"), read_cluster("site.yaml"), Path())[0][1]


def allocation() -> Allocation:
    here = Host(name="n0", host="localhost", address="127.0.0.1")
    return Allocation(
        launcher="local", job_id=None, supervisor_host="here", supervisor_pid=1, started_at="now",
        hosts=(here,), project=str(Path.cwd()),
    )  # fmt: skip


def test_the_client_that_is_ready_is_the_one_that_the_plan_asks_for(files: RunFiles) -> None:
    plan = planned()
    files.point("c2").mkdir(parents=True)
    files.result("c2").write_text(json.dumps({"valid": True, "digest": plan.points[1].digest}))
    ready_clients(files, plan, allocation())
    for point in ("c1", "c4"):
        words = client_words(files, plan, allocation(), point)
        assert kept_client(files, point) == (words, Path.cwd())
        assert f"{files.point(point)}/load.json" in words
    assert kept_client(files, "c2") is None, "a finished point is not to be measured again"


def test_a_client_with_a_secret_is_never_written_down(files: RunFiles) -> None:
    ready_clients(files, planned(RECIPE + "environment: {HF_TOKEN: hf_abcdef}\n"), allocation())
    assert not files.clients.exists()


@pytest.mark.parametrize("text", ["", "[]", '{"words": {}}', '{"words": {"c1": ["x"]}}'])
def test_what_cannot_be_read_makes_no_client_ready(files: RunFiles, text: str) -> None:
    files.root.mkdir(parents=True)
    files.clients.write_text(text)
    assert kept_client(files, "c1") is None
