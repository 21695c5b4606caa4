"""Two runs side by side, and a run beside this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from servesweep.cli import main
from servesweep.evidence.differences import differences
from servesweep.evidence.files import RunFiles, keep_plan
from servesweep.evidence.lockfile import write_lockfile
from servesweep.evidence.node_fingerprint import fingerprint
from servesweep.plan.plan import Plan, plan_text
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file


def told(*words: object) -> Result:
    return CliRunner().invoke(main, list(map(str, words)))


@pytest.fixture
def pair(plan: Plan, files: RunFiles, keep: Any) -> tuple[Path, Path]:
    """Two runs: the second with another load, another board, a further package, on another host."""
    Path("other.yaml").write_text(Path("demo.yaml").read_text().replace("osl: 8", "osl: 16"))
    ((_, other),) = read_recipe_file(RecipeFile("other.yaml"), plan.cluster, Path())
    second = RunFiles(Path("results/other"))
    keep_plan(second, plan_text(other), "other.yaml")
    here = fingerprint([0])
    keep(files.logs / "fingerprint_agg_w0.json", here)
    boards = {"available": True, "driver": "550", "gpus": [{"uuid": "b", "name": "H200"}], "assigned": [0]}
    there = {**here, "hostname": "elsewhere", "timestamp": "2026-01-01T00:00:00Z", "gpu": boards}
    keep(
        second.logs / "fingerprint_agg_w0.json", {**there, "pip_packages": [*here["pip_packages"], "zzz==1"]}
    )
    return write_lockfile(files.root, plan), write_lockfile(second.root, other)


def test_values_are_compared_key_by_key() -> None:
    before = {"a": {"b": 1, "c": 2}, "p": ["x==1", "y==2"], "l": [{"n": 1}], "t": (1, 2), "same": [1]}
    after = {
        "a": {"b": 1, "d": 3},
        "p": ["y==3", "x==1"],
        "l": [{"n": 2}, {"n": 3}],
        "t": (1, 3),
        "same": [1],
    }
    assert list(map(str, differences(before, after))) == [
        "a.c: only before: 2",
        "a.d: only after: 3",
        "p.y: 2 -> 3",
        "l[0].n: 1 -> 2",
        'l[1]: only after: {"n": 3}',
        "t: [1, 2] -> [1, 3]",
    ]


def test_of_a_long_command_line_only_the_words_that_changed_are_told() -> None:
    common = ["python3", "-m", "sglang.launch_server", "--model-path", "/models/tiny", "--page-size", "64"]
    before = {"argv": [*common, "--tp-size", "4", "--trust-remote-code", "--port", "8000"]}
    after = {"argv": [*common, "--tp-size", "8", "--port", "8000", "--dp-size", "2"]}
    assert list(map(str, differences(before, after))) == [
        "argv: --tp-size 4 --trust-remote-code -> --tp-size 8; only after: --dp-size 2",
    ]
    assert list(map(str, differences(before, {"argv": common}))) == [
        "argv: only before: --tp-size 4 --trust-remote-code --port 8000",
    ]


def test_diff_tells_recipe_plan_and_machine_but_not_the_place(pair: tuple[Path, Path]) -> None:
    first, second = pair
    done = told("diff", first.parent, second)
    assert done.exit_code == 0
    assert "recipe:\n  benchmark.osl: 8 -> 16\n" in done.output
    assert "  points.c1.digest: " in done.output
    assert "cluster file: the same\nslurm: the same\n" in done.output
    _, _, machine = done.output.partition("fingerprints:\n")
    assert machine.splitlines() == [
        "  agg_w0.gpu.available: false -> true",
        "  agg_w0.gpu.driver: null -> 550",
        '  agg_w0.gpu.gpus[0]: only after: {"name": "H200"}',
        "  agg_w0.pip_packages.zzz: only after: 1",
    ]


def test_diff_of_the_same_says_so_and_its_exit_code_is_for_scripts(pair: tuple[Path, Path]) -> None:
    first, second = pair
    same = told("diff", first, first.parent, "--exit-code")
    assert (same.exit_code, "->" in same.output) == (0, False)
    assert told("diff", first, second, "--exit-code").exit_code == 1
    found = json.loads(told("diff", first, second, "--json").output)
    assert found["recipe"] == [{"key": "benchmark.osl", "before": 8, "after": 16}]


def test_diff_of_a_copied_lockfile_compares_what_lockfiles_tell(pair: tuple[Path, Path]) -> None:
    first, second = pair
    Path("a.yaml").write_text(first.read_text())
    done = told("diff", "a.yaml", second)
    assert "recipe:\n  benchmark.osl: 8 -> 16\n" in done.output
    assert "plan:\n  digest: " in done.output


def test_diff_of_fingerprints_alone(pair: tuple[Path, Path]) -> None:
    first, second = pair
    logs = [side.parent / "logs" for side in (first, second)]
    one = told("diff", *(path / "fingerprint_agg_w0.json" for path in logs))
    assert "agg_w0.pip_packages.zzz: only after: 1" in one.output


def test_diff_warns_of_a_lockfile_that_was_changed(pair: tuple[Path, Path]) -> None:
    first, second = pair
    first.write_text(first.read_text().replace("isl: 8", "isl: 9"))
    assert "the recipe was changed after its lock was written" in told("diff", first, second).output


def test_check_is_content_with_the_machine_that_it_was_run_on(pair: tuple[Path, Path]) -> None:
    first, _ = pair
    done = told("check", first.parent)
    assert (done.exit_code, done.output) == (0, "agg_w0: the same\n")


def test_check_tells_what_this_environment_adds(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = pair
    assert told("check", second).exit_code == 1
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    done = told("check", first, "--json")
    assert done.exit_code == 1
    assert json.loads(done.output) == {"agg_w0": [{"key": "env.NCCL_DEBUG", "after": "INFO"}]}


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("demo.yaml", "demo.yaml: a recipe without a lock; a run writes its recipe.lock.yaml"),
        ("results", "results: neither a recipe.lock.yaml nor fingerprints are there; name one of its "
         "configurations, such as results/demo"),
        ("other.json", "other.json: no fingerprint of a worker"),
    ],
)  # fmt: skip
def test_what_is_no_evidence_is_refused_in_one_sentence(
    pair: tuple[Path, Path], path: str, sentence: str
) -> None:
    Path("other.json").write_text("{}")
    done = told("check", path)
    assert (done.exit_code, done.output) == (1, f"Error: {sentence}\n")


def test_the_lock_has_restarts_where_there_were_any(plan: Plan, files: RunFiles, keep: Any) -> None:
    record = {"total_restarts": 1, "events": [{"worker": "agg_0", "outcome": "ready"}]}
    keep(files.logs / "worker_restarts.json", record)
    lock = yaml.safe_load(write_lockfile(files.root, plan).read_text())["lock"]
    assert lock["worker_restarts"] == record
