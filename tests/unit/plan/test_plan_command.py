"""`servesweep plan`: recipes planned on the spot, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from servesweep.cli import main

HEAD = "schema: 2\nname: demo\nmodel: {path: /models/m, precision: fp8}\n"
PD = (
    "engine: sglang\nresources: {gpus_per_node: 4}\n"
    "roles: {prefill: {nodes: 1, workers: 2, gpus: 2, env: {A: a b}},"
    " decode: {nodes: 2, workers: 1, gpus: 8}}\n"
    "benchmark: {type: sa-bench, isl: 8, osl: 8, concurrencies: [1, 4, 4]}\n"
)
HINT = (
    "; planning for another machine? `preflight: false` in the cluster file, or --no-preflight, does not look"
)
# The model of these recipes is on no machine, so nothing looks for it.
SITE = (
    "preflight: false\ndefault_partition: batch\ndefault_time_limit: 90\nenvironment: {HF_HUB_OFFLINE: 1}\n"
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text(SITE)

    def call(*words: str, **files: str) -> Result:
        for name, text in files.items():
            Path(f"{name}.yaml").write_text(text)
        return CliRunner().invoke(main, ["plan", *words])

    return call


def test_an_object_a_line_with_keys_that_stay(run) -> None:  # type: ignore[no-untyped-def]
    result = run("a.yaml", "b.yaml", "--cluster", "cluster.yaml", "--json", a=HEAD + PD, b=HEAD + PD)
    assert result.exit_code == 0, result.output
    first, second = map(json.loads, result.stdout.splitlines())
    assert (first["id"], second["id"]) == ("a", "b")
    assert list(first) == [
        "id", "recipe", "variant", "name", "engine", "frontend", "served_model", "nodes", "placement",
        "topology", "workers", "frontends", "services", "benchmark", "slurm", "gpu_hours", "settings",
        "warnings", "unsupported", "refused",
    ]  # fmt: skip
    assert first["nodes"] == ["n0", "n1", "n2"]
    assert first["placement"] == {"frontend": "n0", "benchmark": "n0", "services": {"etcd": ["n0"]}}
    assert [(w["role"], w["index"], w["nodes"], w["gpus"]) for w in first["workers"]] == [
        ("prefill", 0, ["n0"], {"n0": [0, 1]}),
        ("prefill", 1, ["n0"], {"n0": [2, 3]}),
        ("decode", 0, ["n1", "n2"], {"n1": [0, 1, 2, 3], "n2": [0, 1, 2, 3]}),
    ]
    leader, follower = first["workers"][2]["processes"]
    assert leader["ports"] == {
        "http": 6100, "bootstrap": None, "system": 7502, "kv_events": 5552, "nixl": 5402,
    }  # fmt: skip
    assert (follower["node"], follower["rank"], follower["ports"]["http"]) == ("n2", 1, None)
    assert "--node-rank 1" in " ".join(follower["argv"])
    assert first["frontends"][0]["port"] == 8000
    assert first["benchmark"]["url"] == "http://ip-n0:8000"
    assert [point["id"] for point in first["benchmark"]["points"]] == ["c1", "c4"]
    assert first["warnings"][-1] == "the point c4 is given 2 times and measured once"
    assert first["slurm"]["sbatch"] == [
        "-p", "batch", "-t", "90",
        "--nodes=3", "--ntasks-per-node=2", "--cpus-per-task=2", "--gpus-per-node=4",
    ]  # fmt: skip
    assert first["gpu_hours"] == 3 * 4 * 1.5


def test_the_same_twice_is_the_same_to_the_byte(run) -> None:  # type: ignore[no-untyped-def]
    shown = [run("a.yaml", "--json", a=HEAD + PD).stdout for _ in range(2)]
    assert shown[0] == shown[1] != ""


def test_the_page_tells_everything(run) -> None:  # type: ignore[no-untyped-def]
    text = run("a.yaml", "--cluster", "cluster.yaml", a=HEAD + PD).stdout
    for line in (
        "a  sglang under dynamo: 2 prefill x 2 GPU + 1 decode x 8 GPU, model m",
        "  n0      head, etcd, prefill_0[0-1], prefill_1[2-3], frontend_0, client",
        "  sbatch  -p batch -t 90 --nodes=3 --ntasks-per-node=2 --cpus-per-task=2 --gpus-per-node=4",
        "  asked   at most 18 GPU-hours",
        "  env     cluster file: HF_HUB_OFFLINE=1",
        "  env     roles.prefill: A='a b'",
        "  prefill_1  on n0, http 6132, bootstrap 7201, system 7501, kv_events 5551, nixl 5401",
        "  note    the point c4 is given 2 times and measured once",
        "1 configuration, 2 points, 3 nodes a job, at most 18 GPU-hours in all",
    ):
        assert line in text.splitlines(), line


def test_a_value_set_from_outside_is_told(run) -> None:  # type: ignore[no-untyped-def]
    words = ("a.yaml", "--set", "roles.prefill.workers=1", "--json")
    shown = json.loads(run(*words, a=HEAD + PD).stdout)
    assert shown["topology"]["num_prefill"] == 1
    assert shown["settings"] == ["roles.prefill.workers=1"]


def test_what_cannot_be_run_is_planned_and_told(run) -> None:  # type: ignore[no-untyped-def]
    body = "engine: sglang\nroles: {agg: {nodes: 1}}\ndynamo: {top_of_tree: true}\nreporting: {}\n"
    shown = json.loads(run("a.yaml", "--json", a=HEAD + body).stdout)
    assert shown["unsupported"] == [
        "reporting: telling others about the run", "dynamo.top_of_tree: building Dynamo",
    ]  # fmt: skip
    assert shown["refused"] == [
        "reporting: telling others about the run: this version cannot run it yet",
        "dynamo.top_of_tree: building Dynamo: this version cannot run it yet",
        "model.path: '/models/m' is no directory, and without a cluster file (--cluster) there are no aliases"
        f"{HINT}",
    ]
    told = run("a.yaml")
    assert f"  refused {shown['refused'][0]}" in told.stdout.splitlines()
    assert told.stderr.splitlines() == [
        "1 of 1 would be refused by validation",
        *(f"  1 x {reason}" for reason in shown["refused"]),
    ]
    assert told.exit_code == 1


def test_the_short_form_has_no_command_lines(run) -> None:  # type: ignore[no-untyped-def]
    text = run("a.yaml", "--cluster", "cluster.yaml", "--brief", a=HEAD + PD).stdout
    assert "  n1      decode_0[0-3]" in text.splitlines()
    assert "dynamo.sglang" not in text


def test_faults_of_all_files_are_told_and_nothing_else(run) -> None:  # type: ignore[no-untyped-def]
    result = run("a.yaml", "b.yaml", "none.yaml", a=HEAD + "engine: x\n", b=HEAD + PD + "x: 1\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "none.yaml: no such recipe: no file, no directory, no pattern that matches\n"
    result = run("a.yaml", "b.yaml")
    assert "Traceback" not in result.output
    assert sorted({line.split(":")[0] for line in result.stderr.splitlines()}) == ["a.yaml", "b.yaml"]


def test_a_directory_of_recipes_and_one_of_results(run) -> None:  # type: ignore[no-untyped-def]
    for name in ("one", "two"):
        Path("recipes").mkdir(exist_ok=True)
        Path(f"recipes/{name}.yaml").write_text(HEAD + PD)
    assert run("recipes").stdout.count("model m") == 2
    assert run("empty").exit_code == 1
    Path("results").mkdir()
    for words in ((), ("results",)):
        result = run(*words)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == "there is no plan here: name recipe files, or run `snakemake plan` first\n"


def test_files_with_faults_hide_no_others(run) -> None:  # type: ignore[no-untyped-def]
    result = run("a.yaml,b.yaml", "--cluster", "cluster.yaml", "--brief", a=HEAD + PD, b=HEAD + "engine: x\n")
    assert result.exit_code == 1
    assert (
        "1 configuration, 2 points, 3 nodes a job, at most 18 GPU-hours in all" in result.stdout.splitlines()
    )
    assert {line.split(":")[0] for line in result.stderr.splitlines()} == {"b.yaml"}


def test_no_preflight_looks_for_nothing_on_this_machine(run) -> None:  # type: ignore[no-untyped-def]
    assert run("a.yaml", a=HEAD + PD).exit_code == 1
    result = run("a.yaml", "--no-preflight")
    assert (result.exit_code, result.stderr) == (0, "")
    told = CliRunner().invoke(main, ["validate", "a.yaml", "--cluster", "site.yaml"])
    assert told.exit_code == 1
    Path("site.yaml").write_text("launcher: slurm\n")
    told = CliRunner().invoke(main, ["validate", "a.yaml", "--cluster", "site.yaml"])
    assert told.stderr.strip().endswith(HINT)
    words = ["validate", "a.yaml", "--cluster", "site.yaml", "--no-preflight"]
    assert CliRunner().invoke(main, words).exit_code == 0


def test_validation_writes_plans_only_where_it_is_told_to(run) -> None:  # type: ignore[no-untyped-def]
    Path("a.yaml").write_text(HEAD + PD)
    Path("site.yaml").write_text("launcher: slurm\ndefault_partition: batch\n")
    words = ["validate", "a.yaml", "--cluster", "site.yaml", "--no-preflight"]
    before = sorted(Path().rglob("*"))
    assert CliRunner().invoke(main, words).output.endswith("1 configuration is valid\n")
    assert sorted(Path().rglob("*")) == before
    assert CliRunner().invoke(main, [*words, "--results", "out"]).exit_code == 0
    assert sorted(p.name for p in Path("out/a").iterdir()) == ["plan.json", "recipe.yaml"]


def test_the_cluster_file_is_the_workflow_s_where_none_is_named(run) -> None:  # type: ignore[no-untyped-def]
    Path("a.yaml").write_text(HEAD + PD)
    none = CliRunner().invoke(main, ["validate", "a.yaml"])
    assert none.stderr == "no cluster file is named: say --cluster FILE; config/config.yaml names none here\n"
    Path("config").mkdir()
    Path("config/config.yaml").write_text("recipes: a.yaml\ncluster: cluster.yaml\n")
    assert run("a.yaml", "--json").exit_code == 0
    assert json.loads(run("a.yaml", "--json").stdout)["slurm"]["partition"] == "batch"
    assert CliRunner().invoke(main, ["validate", "a.yaml"]).exit_code == 0
