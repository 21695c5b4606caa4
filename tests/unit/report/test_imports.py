"""Result files of other tools, and our own tables, become rows of one table."""

import json
from pathlib import Path

import pytest

from servesweep.report.columns import NAMES
from servesweep.report.export import inferencex_json
from servesweep.report.imports import UnreadableError, read_rows
from servesweep.report.rollup import rollup_csv, rollup_json
from servesweep.report.rows import sweep_rows
from servesweep.report.sweep import load_sweep
from servesweep.report.table_files import csv_text, parquet_bytes

PUBLIC = Path(__file__).with_name("public")
METRICS = {
    **{"output_throughput_tok_s": 320.0, "total_throughput_tok_s": 2880.0, "input_throughput_tok_s": 2560.0},
    **{"output_tok_s_per_gpu": 20.0, "total_tok_s_per_gpu": 180.0, "output_tok_s_per_user": 125.0},
    **{"mean_ttft_ms": 12.5, "p99_ttft_ms": 30.0, "median_tpot_ms": 8.0, "p50_tpot_ms": 8.0},
}


def test_a_public_result_of_inferencex():
    hopper, blackwell = read_rows(PUBLIC / "inferencex.json")
    assert set(hopper) >= set(NAMES)
    assert {
        name: hopper[name] for name in ("configuration", "point", "concurrency", "isl", "osl", "status")
    } == {
        "configuration": "h100-vllm-fp4-tp4-ep1",
        **{"point": "c64", "concurrency": 64, "isl": 8192, "osl": 1024, "status": "valid"},
    }
    assert (hopper["total_gpus"], hopper["agg_gpus"], hopper["agg_tp"]) == (4, 4, 4)
    assert hopper["median_ttft_ms"] == pytest.approx(249.37097914516926), "seconds become milliseconds"
    assert hopper["p50_ttft_ms"] == hopper["median_ttft_ms"]
    assert hopper["output_tok_s_per_user"] == pytest.approx(57.01832382169995), "their median_intvty"
    assert hopper["output_tok_s_per_gpu"] == pytest.approx(888.1698152106957)
    assert hopper["total_throughput_tok_s"] == pytest.approx(4 * 8005.765519222265)
    assert hopper["input_throughput_tok_s"] == pytest.approx(4 * 7117.595704011569)
    assert (blackwell["configuration"], blackwell["total_gpus"]) == ("b200-vllm-fp4-tp2-ep1", 2)


def test_a_public_result_of_vllm_bench():
    [row] = read_rows(PUBLIC / "vllm_bench.json")
    assert (row["configuration"], row["point"], row["model"]) == (
        *("vllm_bench", "c64", "deepseek-ai/DeepSeek-R1-0528"),
    )
    assert (row["requests_asked"], row["requests_completed"], row["requests_failed"]) == (1000, 1000, 0)
    assert row["p99_ttft_ms"] == 77.79025232302956
    assert row["output_throughput_tok_s"] == pytest.approx(row["output_tokens"] / row["duration_s"])
    assert row["input_throughput_tok_s"] == pytest.approx(row["input_tokens"] / row["duration_s"])
    assert row["output_tok_s_per_gpu"] is None, "such a file knows no GPUs"


def test_a_result_of_sa_bench_tells_its_lengths_and_rate(tmp_path):
    told = {
        **{"date": "20250301", "backend": "dynamo", "model_id": "m", "request_rate": "inf", "completed": 0},
        **{"max_concurrency": 4, "output_throughput": 0.0, "input_lens": [8, 8], "output_lens": [2, 3]},
    }
    (tmp_path / "results_concurrency_4.json").write_text(json.dumps(told))
    [row] = read_rows(tmp_path / "results_concurrency_4.json")
    assert (row["isl"], row["osl"], row["request_rate"]) == (8, None, float("inf"))
    assert (row["status"], row["reason"]) == ("invalid", "nothing was completed")


def test_the_names_of_sa_benchs_files_tell_the_gpus(tmp_path):
    told = {
        "completed": 9,
        "output_throughput": 240.0,
        "total_token_throughput": 480.0,
        "median_tpot_ms": 10.0,
    }
    for name, level in (
        ("results_concurrency_4_gpus_12_ctx_4_gen_8", 4),
        ("results_concurrency_16_gpus_12_ctx_4_gen_8", 16),
        ("results_concurrency_4_gpus_6", 4),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(told | {"max_concurrency": level}))
    rows = {(row["configuration"], row["point"]): row for row in read_rows(tmp_path)}
    split, whole = ("results_gpus_12_ctx_4_gen_8", "results_gpus_6")
    assert set(rows) == {(split, "c4"), (split, "c16"), (whole, "c4")}, (
        "all levels of one deployment are one line"
    )
    gpus = ("total_gpus", "prefill_gpus", "decode_gpus", "agg_gpus")
    assert [rows[split, "c4"][name] for name in gpus] == [12, 4, 8, 0]
    assert [rows[whole, "c4"][name] for name in gpus] == [6, 0, 0, 6]
    assert rows[split, "c16"]["output_tok_s_per_gpu"] == 20.0
    assert rows[whole, "c4"]["output_tok_s_per_gpu"] == 40.0


def test_disaggregated_rows_of_inferencex_keep_both_denominators(tmp_path):
    row = {
        **{"hw": "gb200", "framework": "dynamo-sglang", "precision": "fp8", "model": "m", "conc": 128},
        **{"isl": "1024", "osl": "1024", "num_prefill_gpu": 8, "num_decode_gpu": 24, "disagg": True},
        **{"prefill_tp": 4, "prefill_ep": 1, "prefill_num_workers": 2, "decode_tp": 24, "decode_ep": 24},
        **{"decode_num_workers": 1, "tput_per_gpu": 100.0, "output_tput_per_gpu": 60.0, "median_tpot": 0.02},
    }
    (tmp_path / "agg.json").write_text(json.dumps(row))
    [found] = read_rows(tmp_path / "agg.json")
    assert [found[f"{role}_gpus"] for role in ("prefill", "decode", "agg", "total")] == [8, 24, 0, 32]
    assert found["output_throughput_tok_s"] == 60.0 * 24
    assert found["output_tok_s_per_gpu"] == 60.0 * 24 / 32, "ours divides by all GPUs of workers"
    assert found["output_tok_s_per_user"] == 50.0


@pytest.fixture
def sweep(tree):
    tree.plan("a", {"c1": 1, "c2": 2, "c4": 4})
    tree.result("a", "c1", METRICS)
    tree.invalid("a", "c2", "no tokens")
    return tree.root


@pytest.mark.parametrize("name", ["summary.csv", "summary.parquet"])
def test_our_own_tables_come_back_as_they_were(sweep, tmp_path, name):
    rows = sweep_rows(load_sweep(sweep))
    content = csv_text(rows).encode() if name.endswith("csv") else parquet_bytes(rows)
    (tmp_path / name).write_bytes(content)
    assert read_rows(tmp_path / name) == rows


def test_a_results_directory_or_one_configuration_of_it(sweep):
    assert [row["status"] for row in read_rows(sweep)] == ["valid", "invalid", "not run"]
    assert read_rows(sweep / "a") == read_rows(sweep) == read_rows(sweep, ["a"])


def test_the_configurations_of_a_sweep_s_list(sweep, tree):
    tree.plan("b", {"c1": 1})
    tree.put("sweep.json", {"schema": 1, "configurations": ["a"], "gpu_quota": None})
    assert {row["configuration"] for row in read_rows(sweep)} == {"a", "b"}
    assert {row["configuration"] for row in read_rows(sweep / "sweep.json")} == {"a"}


def test_what_is_exported_comes_back_with_the_same_numbers(sweep, tmp_path):
    (tmp_path / "agg.json").write_text(inferencex_json(load_sweep(sweep)))
    [row] = read_rows(tmp_path / "agg.json")
    ours = read_rows(sweep)[0]
    same = ("configuration", "point", "total_gpus", "prefill_gpus", "isl", *METRICS)
    assert {name: row[name] for name in same} == {name: pytest.approx(ours[name]) for name in same}


def test_roll_ups_come_back_with_what_they_hold(sweep, tmp_path):
    rows = read_rows(sweep)
    (tmp_path / "benchmark-rollup.json").write_text(rollup_json(rows, "sa-bench"))
    (tmp_path / "benchmark-rollup.csv").write_text(rollup_csv(rows))
    [from_json], [from_csv] = (read_rows(tmp_path / f"benchmark-rollup.{form}") for form in ("json", "csv"))
    assert (from_json["p99_ttft_ms"], from_json["output_throughput_tok_s"]) == (30.0, 320.0)
    assert (from_csv["configuration"], from_csv["total_gpus"], from_csv["output_tok_s_per_gpu"]) == (
        "a",
        16,
        20.0,
    )


def test_a_directory_of_result_files_of_others_with_other_files_beside(tmp_path):
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "b.json").write_bytes((PUBLIC / "vllm_bench.json").read_bytes())
    (tmp_path / "a.json").write_bytes((PUBLIC / "inferencex.json").read_bytes())
    (tmp_path / "c.json").write_text("{")
    (tmp_path / "d.json").write_text('{"other": 1}')
    assert [row["point"] for row in read_rows(tmp_path)] == ["c64", "c8", "c64"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{", "not JSON"),
        ("a.json", '{"x": 1}', "no results in a form that is known here"),
        ("a.csv", "x,y\n1,2\n", "no table of servesweep, and no roll-up of srt-slurm"),
        ("a.parquet", "PAR", "not Parquet"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(UnreadableError, match=said):
        read_rows(tmp_path / name)
    with pytest.raises(UnreadableError, match="no such file"):
        read_rows(tmp_path / "gone")
