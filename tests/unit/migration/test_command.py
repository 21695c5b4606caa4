"""`servesweep migrate` at a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from servesweep.plan.migrate_command import migrate

V1 = "name: x\nresources:\n  gpus_per_node: 8\n  agg_workers: 1\nbenchmark:\n  type: gpqa\n  isl: 1\n"
V2 = (
    "schema: 2\nname: x\nresources:\n  gpus_per_node: 8\nengine: sglang\nroles:\n  agg:\n    nodes: 1\n"
    "    workers: 1\ndynamo:\n  source:\n    pypi: 0.8.0\nbenchmark:\n  type: gpqa\n"
    "  # migrate: benchmark.isl: 1 is left out: gpqa does not use it\n"
)


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    """Two recipes in a tree, one of them of schema 2, and a file that is none."""
    tree = tmp_path / "recipes"
    (tree / "deep").mkdir(parents=True)
    (tree / "one.yaml").write_text(V1)
    (tree / "deep" / "two.yml").write_bytes(b"schema: 2\r\nname: y  \n")
    (tree / "deep" / "compose.yaml").write_text("services: {}\n")
    (tree / "README.md").write_text("no recipe\n")
    return tree


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(migrate, [str(word) for word in words])


def test_one_file_goes_to_the_terminal_and_its_notes_to_stderr(recipes: Path) -> None:
    result = run(recipes / "one.yaml")
    assert (result.exit_code, result.stdout) == (0, V2)
    note = "benchmark.isl: 1 is left out: gpqa does not use it"
    assert result.stderr == f"{recipes / 'one.yaml'}:7: {note}\n"
    assert (recipes / "one.yaml").read_text() == V1


def test_a_dash_is_standard_output_and_no_directory(recipes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(recipes)
    result = run("one.yaml", "--output", "-")
    assert (result.exit_code, result.stdout) == (0, V2)
    assert not Path("-").exists()


def test_a_tree_is_written_below_another_directory_and_bad_files_do_not_stop_it(recipes: Path) -> None:
    target = recipes.parent / "new"
    result = run(recipes, "--output", target)
    assert result.exit_code == 1
    assert sorted(str(f.relative_to(target)) for f in target.rglob("*.y*ml")) == ["deep/two.yml", "one.yaml"]
    assert (target / "one.yaml").read_text() == V2
    assert (target / "deep" / "two.yml").read_bytes() == b"schema: 2\r\nname: y  \n"
    assert f"{recipes / 'deep' / 'compose.yaml'}: this is no recipe" in result.stderr


def test_in_place_writes_once_keeps_the_mode_and_leaves_no_temporary_file(recipes: Path) -> None:
    file = recipes / "one.yaml"
    file.chmod(0o640)
    (recipes / "link.yaml").symlink_to(file)
    assert run(recipes / "link.yaml", "--in-place").exit_code == 0
    assert file.read_text() == V2
    assert file.stat().st_mode & 0o777 == 0o640
    assert (recipes / "link.yaml").is_symlink()
    before = file.stat().st_mtime_ns, file.stat().st_ino
    assert run(file, "--in-place").exit_code == 0
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before
    assert {f.name for f in recipes.iterdir()} == {"one.yaml", "link.yaml", "deep", "README.md"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["recipes"], "for several files say --in-place or --output DIR"),
        (
            ["recipes", "--output", "-"],
            "standard output takes one file: for several say --in-place or --output DIR",
        ),
        (["a.yaml", "b.yaml", "--output", "-"], "standard output takes one file"),
        (["a.yaml", "--in-place", "--output", "-"], "say --in-place or --output, not both"),
        (["recipes", "--in-place", "--output", "new"], "say --in-place or --output, not both"),
    ],
)
def test_where_to_write_has_to_be_clear(
    recipes: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], sentence: str
) -> None:
    monkeypatch.chdir(recipes.parent)
    result = run(*words)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9\n")
    result = run(tmp_path / "missing.yaml", tmp_path / "latin.yaml", "--output", tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"{tmp_path / 'missing.yaml'}: the file cannot be read: No such file or directory",
        f"{tmp_path / 'latin.yaml'}: the file is not UTF-8 text",
        "0 written, 0 unchanged, 0 need attention, 2 refused",
    ]


def test_two_files_of_one_name_do_not_overwrite_each_other(recipes: Path) -> None:
    other = recipes / "deep" / "one.yaml"
    other.write_text(V1.replace("name: x", "name: z"))
    result = run(recipes / "one.yaml", other, "--output", recipes.parent / "out")
    assert result.exit_code == 1
    assert "another file was written to" in result.stderr
    assert (recipes.parent / "out" / "one.yaml").read_text() == V2


def test_a_file_that_is_no_recipe_is_one_line_and_left_as_it_is(recipes: Path) -> None:
    (recipes / "deep" / "broken.yaml").write_text("a: [\n")
    (recipes / "deep" / "two documents.yaml").write_text("a: 1\n---\nb: 1\n")
    result = run(recipes, "--in-place")
    assert result.exit_code == 1
    deep = recipes / "deep"
    note, broken, compose, two, count = result.stderr.splitlines()
    assert broken.startswith(f"{deep / 'broken.yaml'}:2: not valid YAML")
    assert compose.startswith(f"{deep / 'compose.yaml'}: this is no recipe: it has none of")
    assert two.startswith(f"{deep / 'two documents.yaml'}:2: the file holds several documents")
    assert note == f"{recipes / 'one.yaml'}:15: benchmark.isl: 1 is left out: gpqa does not use it"
    assert count == "1 written, 1 unchanged, 0 need attention, 3 refused"
    assert (deep / "compose.yaml").read_text() == "services: {}\n"
    assert (recipes / "one.yaml").read_text() == V2


def test_a_whole_tree_twice_changes_nothing_the_second_time(recipes: Path) -> None:
    (recipes / "deep" / "compose.yaml").unlink()
    assert run(recipes, "--in-place").exit_code == 0
    before = {f: (f.read_bytes(), f.stat().st_mtime_ns) for f in recipes.rglob("*.y*ml")}
    second = run(recipes, "--in-place")
    assert (second.exit_code, second.stderr) == (0, "0 written, 2 unchanged, 0 need attention, 0 refused\n")
    assert {f: (f.read_bytes(), f.stat().st_mtime_ns) for f in before} == before


def test_a_directory_without_recipes_is_told(tmp_path: Path) -> None:
    result = run(tmp_path, "--in-place")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == f"{tmp_path}: the directory holds no .yaml or .yml file"


def test_a_write_that_fails_leaves_the_file_whole(recipes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    result = run(recipes / "one.yaml", "--in-place")
    assert result.exit_code == 1
    refused, _ = result.stderr.splitlines()
    assert refused.endswith(f"{recipes / 'one.yaml'} cannot be written: No space left on device")
    assert (recipes / "one.yaml").read_text() == V1
    assert {f.name for f in recipes.iterdir()} == {"one.yaml", "deep", "README.md"}


def test_an_output_that_cannot_be_made_is_told_for_each_file(recipes: Path) -> None:
    (recipes.parent / "taken").write_text("a file\n")
    result = run(recipes / "one.yaml", "--output", recipes.parent / "taken" / "below")
    assert result.exit_code == 1
    assert "cannot be written: " in result.stderr
    assert (recipes.parent / "taken").read_text() == "a file\n"


def test_windows_files_and_byte_order_marks(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + V1.replace("\n", "\r\n").encode())
    assert run(file, "--in-place").exit_code == 0
    assert file.read_bytes() == V2.replace("\n", "\r\n").encode()


def test_a_file_of_schema_2_with_keys_of_v1_is_folded(tmp_path: Path) -> None:
    file = tmp_path / "mixed.yaml"
    file.write_text("schema: 2\nname: x\nbackend: {type: sglang}\nroles: {agg: {nodes: 1}}\n")
    assert run(file, "--in-place").exit_code == 0
    assert file.read_text() == "schema: 2\nname: x\nengine: sglang\nroles: {agg: {nodes: 1}}\n"


def test_routine_is_told_in_one_line_and_decisions_come_last_with_their_lines(tmp_path: Path) -> None:
    tree = tmp_path / "old"
    tree.mkdir()
    args = "backend:\n  sglang_config:\n    aggregated: {host: a, port: 1, tp-size: 1}\n"
    (tree / "a.yaml").write_text(V1 + args)
    (tree / "b.yaml").write_text(V1.replace("gpqa", "gsm8k-bench") + args + "weird: 1\n")
    result = run(tree, "--output", tmp_path / "new")
    assert result.exit_code == 0
    one, two = tmp_path / "new" / "a.yaml", tmp_path / "new" / "b.yaml"
    unused = (
        one.read_text().splitlines().index("  # migrate: benchmark.isl: 1 is left out: gpqa does not use it")
    )
    kind = two.read_text().splitlines().index("  type: gsm8k-bench")
    weird = two.read_text().splitlines().index("# weird: 1")
    assert result.stderr.splitlines() == [
        "2 files: left out, 4 times, as servesweep sets it: host and port",
        f"{one}:{unused + 1}: benchmark.isl: 1 is left out: gpqa does not use it",
        f"{two}:{kind}: needs attention: gsm8k-bench is no type of benchmark that v1 or v2 knows",
        f"{two}:{weird}: needs attention: weird is commented out: v2 has no such key",
        "2 written, 0 unchanged, 1 needs attention, 0 refused",
    ]


def test_a_file_of_schema_2_on_the_terminal_is_said_to_be_one(recipes: Path) -> None:
    file = recipes / "deep" / "two.yml"
    result = run(file)
    assert (result.exit_code, result.stderr) == (0, f"{file}: is schema 2 already: nothing is rewritten\n")


def test_each_of_several_directories_has_one_below_the_output(tmp_path: Path) -> None:
    for name in ("fp4", "fp8"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "1k1k.yaml").write_text(V1)
    result = run(tmp_path / "fp4", tmp_path / "fp8", "--output", tmp_path / "new")
    assert result.exit_code == 0
    found = sorted(str(file.relative_to(tmp_path / "new")) for file in (tmp_path / "new").rglob("*.yaml"))
    assert found == ["fp4/deep/1k1k.yaml", "fp8/deep/1k1k.yaml"]
