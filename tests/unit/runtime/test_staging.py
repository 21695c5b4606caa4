"""A model's copy on a node's own disk: made once, complete, and never half of one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from servesweep.runtime.staging import main, manifest, stage


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two files, one of them behind a link as in a cache of the hub, and one in a directory."""
    source = tmp_path / "shared" / "tiny"
    (source / "tokenizer").mkdir(parents=True)
    (tmp_path / "blob").write_bytes(b"weights")
    (source / "model.safetensors").symlink_to(tmp_path / "blob")
    (source / "config.json").write_text("{}")
    (source / "tokenizer" / "vocab").write_text("a b")
    return source


def staged(source: Path, target: Path) -> list[str]:
    said: list[str] = []
    stage(source, target, said.append)
    return said


def test_files_are_copied_and_links_followed(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "nvme" / "tiny"
    assert staged(model, target) == [f"copied 3 files, 12 bytes, to {target}"]
    assert manifest(target) == {"model.safetensors": 7, "config.json": 2, "tokenizer/vocab": 3}
    assert not (target / "model.safetensors").is_symlink()


def test_a_copy_that_is_there_is_used(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "nvme" / "tiny"
    staged(model, target)
    before = (target / "config.json").stat().st_mtime_ns
    assert staged(model, target) == [f"{target} is there already: 3 files, 12 bytes"]
    assert (target / "config.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", ["missing", "shorter", "another model's"])
def test_a_copy_that_is_not_the_same_is_made_anew(model: Path, tmp_path: Path, damage: str) -> None:
    target = tmp_path / "nvme" / "tiny"
    staged(model, target)
    if damage == "missing":
        (target / "config.json").unlink()
    elif damage == "shorter":
        (target / "model.safetensors").write_bytes(b"wei")
    else:
        (target / "more").write_text("x")
    assert staged(model, target)[0].startswith("copied 3 files")
    assert manifest(target) == manifest(model)


def test_two_jobs_on_one_node_make_one_copy(model: Path, tmp_path: Path) -> None:
    target = tmp_path / "nvme" / "tiny"
    words = [sys.executable, "-m", "servesweep.runtime.staging", str(model), str(target)]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = sorted(process.communicate(timeout=60)[0] for process in both)
    assert said == sorted(
        [f"copied 3 files, 12 bytes, to {target}\n", f"{target} is there already: 3 files, 12 bytes\n"]
    )


def test_what_cannot_be_copied_is_told_in_one_line(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(str(model), str(tmp_path / "file" / "tiny")) == 1
    assert capsys.readouterr().out == f"{model} could not be copied: {tmp_path / 'file'}: File exists\n"
    (tmp_path / "empty").mkdir()
    assert main(str(tmp_path / "empty"), str(tmp_path / "nvme" / "empty")) == 1
    assert "holds no file on this node" in capsys.readouterr().out
    assert list((tmp_path / "empty").iterdir()) == []
