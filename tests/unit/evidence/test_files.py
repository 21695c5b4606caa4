"""Files that the world sees are there as a whole or not at all."""

import os
import shutil
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from servesweep.evidence.files import RunFiles, sentence, write_atomically


def test_names_of_a_configurations_files() -> None:
    files = RunFiles(Path("results/demo"))
    assert files.plan == Path("results/demo/plan.json")
    assert files.result("c4") == Path("results/demo/points/c4/result.json")
    assert files.invalid("c4") == Path("results/demo/points/c4/invalid.json")
    assert files.logs == Path("results/demo/logs")


def test_a_file_is_written_with_its_directories_and_can_be_read_by_others(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "run.json"
    write_atomically(path, "größer\n")
    assert path.read_text(encoding="utf-8") == "größer\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert os.listdir(path.parent) == ["run.json"]  # noqa: PTH208 - hidden files too


def test_the_old_file_is_replaced_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    write_atomically(path, "old")
    with path.open() as reader:
        write_atomically(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"


def test_the_old_file_survives_a_disk_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    write_atomically(path, "old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as refused:
        write_atomically(path, "new")
    # The descriptor that refused does not know its name, and the user wants to know which disk is full.
    free = shutil.disk_usage(tmp_path).free
    told = sentence(refused.value)
    assert told.startswith(f"{path}: No space left on device (")
    assert abs(int(told.rpartition("(")[2].split()[0]) - free) < 2**30
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["run.json"]  # noqa: PTH208 - hidden files too


def test_the_disk_that_is_full_is_that_of_a_link_s_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other-disk").mkdir()
    link = tmp_path / "table.csv"
    link.symlink_to("other-disk/table.csv")
    asked: list[Path] = []

    def usage(folder: Path) -> SimpleNamespace:
        asked.append(folder)
        return SimpleNamespace(free=7)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    told = sentence(OSError(28, "No space left on device", str(link)))
    assert told == f"{link}: No space left on device (7 bytes free)"
    assert asked == [tmp_path / "other-disk"]


def test_no_part_is_left_where_the_writer_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "run.json", "new")
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - hidden files too
