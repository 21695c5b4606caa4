"""Files that a user names: links, pipes and devices stay what they are."""

import os
import stat
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from servesweep.cli import main
from servesweep.report.atomic import replace_file

HEAD = "configuration,name,recipe,"


def export(results: Path, output: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, ["export", str(results), "--format", "csv", "--output", output])
    return done.exit_code, done.stdout, done.stderr


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "disk").mkdir()
    for target in ("disk/table.csv", "disk/new.csv"):
        link = tmp_path / f"link-to-{Path(target).name}"
        link.symlink_to(target)
        if target == "disk/table.csv":
            link.write_text("old")
        replace_file(link, b"new")
        assert link.is_symlink()
        assert (tmp_path / target).read_text() == "new"
    assert sorted(os.listdir(tmp_path / "disk")) == ["new.csv", "table.csv"]  # noqa: PTH208 - hidden files too


def test_a_pipe_is_written_into(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    replace_file(pipe, b"content")
    reader.join()
    assert read == [b"content"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_stays_one(tmp_path):
    link = tmp_path / "nowhere"
    link.symlink_to("/dev/null")
    before = Path("/dev/null").stat()
    replace_file(link, b"content")
    assert link.is_symlink()
    assert os.path.samestat(before, Path("/dev/null").stat())


def test_the_file_that_standard_output_goes_to_is_not_replaced(tmp_path, capfd):
    link = tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")
    print("before", flush=True)
    replace_file(link, b"content\n")
    print("after", flush=True)
    assert capfd.readouterr().out == "before\ncontent\nafter\n"


def test_a_dash_is_standard_output(tree, tmp_path, monkeypatch):
    tree.plan("a", {"c1": 1})
    monkeypatch.chdir(tmp_path)
    code, out, told = export(tree.root, "-")
    assert (code, told) == (0, "")
    assert out.startswith(HEAD)
    schema = CliRunner().invoke(main, ["schema", "--output", "-"])
    assert schema.stdout.startswith("{")
    assert not Path("-").exists()


@pytest.mark.parametrize(
    ("output", "sentence"),
    [("missing/t.csv", "No such file or directory"), ("a/plan.json/t.csv", "Not a directory")],
)
def test_a_folder_that_is_none_is_told_by_the_name_that_was_given(tree, monkeypatch, output, sentence):
    tree.plan("a", {"c1": 1})
    monkeypatch.chdir(tree.root)
    code, out, told = export(tree.root, output)
    assert (code, out, told) == (1, "", f"{output}: {sentence}\n")


def test_a_full_disk_is_told_with_its_file(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("old")

    def full(temporary: Path, mode: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "chmod", full)
    with pytest.raises(OSError, match="No space left") as refused:
        replace_file(path, b"new")
    assert refused.value.filename == str(path)
    assert os.listdir(tmp_path) == ["t.csv"]  # noqa: PTH208 - hidden files too
    assert path.read_text() == "old"


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError) as refused:
        replace_file(tmp_path, b"new")
    assert refused.value.filename == str(tmp_path)
