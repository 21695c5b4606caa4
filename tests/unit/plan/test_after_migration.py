"""A migration ends with what of the written recipes this version cannot run."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from servesweep.cli import main

OLD = """
name: %s
model: {path: m, container: c.sqsh, precision: fp8}
resources: {gpu_type: h100, gpus_per_node: 8, agg_nodes: 1, agg_workers: 1}
backend: {type: sglang}
benchmark: {type: manual}
"""
TRACED = OLD + "profiling: {type: torch, aggregated: {start_step: 1, stop_step: 2}}\n"


def migrate(directory: Path, **recipes: str) -> list[str]:
    old = directory / "old"
    old.mkdir()
    for name, text in recipes.items():
        (old / f"{name}.yaml").write_text(text % name)
    done = CliRunner().invoke(main, ["migrate", str(old), "--output", str(directory / "new")])
    return done.stderr.splitlines()


def test_files_that_cannot_be_run_are_counted_by_reason(tmp_path: Path) -> None:
    lines = migrate(tmp_path, plain=OLD, traced=TRACED, again=TRACED)
    assert lines[-2:] == [
        "of 3 files 2 use what this version cannot run yet: 2 x profiling.type: tracing the engines",
        "`servesweep plan` tells more of each",
    ]


def test_nothing_is_said_where_all_can_be_run(tmp_path: Path) -> None:
    assert migrate(tmp_path, plain=OLD)[-1].startswith("1 written")
