"""`servesweep export`."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from servesweep.report.command import export

PUBLIC = Path(__file__).with_name("public")


def run(*words):
    done = CliRunner().invoke(export, [str(word) for word in words])
    return done.exit_code, done.stdout, done.stderr


def test_a_disaggregated_configuration_in_the_form_of_inferencex(tree):
    argv = "python3 -m dynamo.sglang --tp-size 8 --dp-size 8 --ep-size 8 --enable-dp-attention"
    steps = [
        {"mode": "prefill", "command": {"argv": ["python3", "-m", "dynamo.sglang", "--tp-size", "8"]}},
        {"mode": "decode", "command": {"argv": [*argv.split(), "--speculative-algorithm", "EAGLE"]}},
    ]
    model = {"precision": "fp8", "container": "registry/sglang:1"}
    tree.plan(
        "a", {"c16": 16, "c4": 4}, steps=steps, resolved={"model": model}, served_model="org/Tiny-Model"
    )
    tree.invalid("a", "c4", "no")
    measured = {
        **{"output_throughput_tok_s": 320.0, "total_throughput_tok_s": 2880.0},
        **{"median_ttft_ms": 250.0, "median_tpot_ms": 8.0, "std_tpot_ms": 0.5},
    }
    tree.result("a", "c16", measured)
    code, out, _ = run(tree.root, "--format", "inferencex")
    assert code == 0
    assert json.loads(out) == [
        {
            **{"hw": "h100", "conc": 16, "image": "registry/sglang:1", "model": "org/Tiny-Model"},
            **{"infmax_model_prefix": "tiny-model", "framework": "simulator", "precision": "fp8"},
            **{"spec_decoding": "eagle", "disagg": True, "isl": 1024, "osl": 128, "is_multinode": True},
            **{"prefill_tp": 8, "prefill_pp": 1, "prefill_ep": 1, "prefill_dp_attention": "false"},
            **{"prefill_num_workers": 1, "num_prefill_gpu": 8},
            **{"decode_tp": 8, "decode_pp": 1, "decode_ep": 8, "decode_dp_attention": "true"},
            **{"decode_num_workers": 1, "num_decode_gpu": 8},
            **{"tput_per_gpu": 180.0, "output_tput_per_gpu": 40.0, "input_tput_per_gpu": 320.0},
            **{"median_ttft": 0.25, "median_tpot": 0.008, "median_intvty": 125.0, "std_tpot": 0.0005},
            **{"recipe_fingerprint": "D-a", "configuration": "a", "repeat": 0},
        }
    ]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_files_of_others_become_one_of_our_tables(tmp_path, form):
    code, out, _ = run(PUBLIC, "--format", form, "--output", tmp_path / f"table.{form}")
    assert (code, out) == (0, "")
    again = run(tmp_path / f"table.{form}", "--format", "csv")[1]
    assert [line.split(",")[0] for line in again.splitlines()[1:]] == [
        *("h100-vllm-fp4-tp4-ep1", "b200-vllm-fp4-tp2-ep1", "vllm_bench"),
    ]
    assert list(tmp_path.iterdir()) == [tmp_path / f"table.{form}"]


@pytest.mark.parametrize("form", ["inferencex", "csv"])
def test_where_no_results_are_a_sentence_says_so(tmp_path, form):
    code, out, told = run(tmp_path, "--format", form)
    assert (code, out) == (1, "")
    assert str(tmp_path) in told


@pytest.fixture
def two(tree):
    """Two configurations of one directory, of which the latest sweep had one."""
    for name, rate in (("a", 10.0), ("b", 20.0)):
        tree.plan(name, {"c1": 1})
        tree.result(name, "c1", {"output_throughput_tok_s": rate})
    tree.put("sweep.json", {"schema": 1, "configurations": ["b"], "gpu_quota": None})
    return tree.root


def exported(out, form):
    rows = json.loads(out) if form == "inferencex" else csv.DictReader(io.StringIO(out))
    return [row["configuration"] for row in rows]


@pytest.mark.parametrize("form", ["inferencex", "csv"])
@pytest.mark.parametrize(
    ("words", "configurations"),
    [
        ([""], ["a", "b"]),
        (["", "--sweep", "sweep.json"], ["b"]),
        (["sweep.json"], ["b"]),
        (["a"], ["a"]),
    ],
)
def test_what_is_exported_of_a_directory_of_results(two, form, words, configurations):
    paths = [word if word.startswith("--") else two / word for word in words]
    code, out, _ = run(*paths, "--format", form)
    assert (code, exported(out, form)) == (0, configurations)


def test_a_configuration_is_exported_from_within_its_directory(two, monkeypatch):
    monkeypatch.chdir(two / "b")
    for form in ("inferencex", "csv"):
        assert exported(run(".", "--format", form)[1], form) == ["b"]


def test_a_lockfile_becomes_a_table(tmp_path):
    lock = tmp_path / "recipe.lock.yaml"
    lock.write_text(
        "lock:\n  configuration: demo\n  recipe: demo.yaml\n  results:\n"
        "    c1: {status: valid, concurrency: 1, p99_ttft_ms: 12.5}\n"
        "    c2: {status: not valid, reason: no result, concurrency: 2}\n"
    )
    code, out, _ = run(lock, "--format", "csv")
    rows = [{key: cell for key, cell in row.items() if cell} for row in csv.DictReader(io.StringIO(out))]
    about = {"configuration": "demo", "recipe": "demo.yaml"}
    assert code == 0
    assert rows == [
        {**about, "point": "c1", "status": "valid", "concurrency": "1", "p99_ttft_ms": "12.5"},
        {**about, "point": "c2", "status": "invalid", "reason": "no result", "concurrency": "2"},
    ]


@pytest.mark.parametrize("form", ["inferencex", "csv"])
def test_a_list_that_is_none_and_a_choice_of_nothing_are_told(two, form):
    (two / "other.json").write_text('{"configurations": 3}')
    for sweep in ("other.json", "gone.json"):
        code, out, told = run(two, "--sweep", two / sweep, "--format", form)
        assert (code, out) == (1, "")
        assert told == f"{two / sweep}: no list of configurations; a run of snakemake writes it\n"
    for path in ("sweep.json", "a"):
        code, _, told = run(two / path, "--sweep", two / "sweep.json", "--format", form)
        assert code == 2
        assert f"--sweep chooses of a directory of results, and {two / path} is none" in told
