"""The table of a tiny tree, in full, and what it divides by."""

import csv
import io

import pytest

from servesweep.report.columns import COLUMNS, NAMES
from servesweep.report.rows import sweep_rows
from servesweep.report.sweep import load_sweep
from servesweep.report.table_files import csv_text, parquet_bytes

HEAD = (
    "configuration,name,recipe,variant,engine,frontend,model,precision,gpu_type,"
    "nodes,gpus_per_node,allocated_gpus,total_gpus,prefill_gpus,decode_gpus,agg_gpus,"
    "num_prefill,num_decode,num_agg,prefill_tp,prefill_pp,prefill_dp,prefill_ep,"
    "decode_tp,decode_pp,decode_dp,decode_ep,agg_tp,agg_pp,agg_dp,agg_ep,"
    "point,isl,osl,concurrency,request_rate,repeat,status,reason,"
    "requests_asked,requests_completed,requests_failed,request_errors,input_tokens,output_tokens,"
    "mean_ttft_ms,median_ttft_ms,std_ttft_ms,p50_ttft_ms,p90_ttft_ms,p95_ttft_ms,p99_ttft_ms,"
    "mean_tpot_ms,median_tpot_ms,std_tpot_ms,p50_tpot_ms,p90_tpot_ms,p95_tpot_ms,p99_tpot_ms,"
    "mean_itl_ms,median_itl_ms,std_itl_ms,p50_itl_ms,p90_itl_ms,p95_itl_ms,p99_itl_ms,"
    "mean_e2el_ms,median_e2el_ms,std_e2el_ms,p50_e2el_ms,p90_e2el_ms,p95_e2el_ms,p99_e2el_ms,"
    "request_throughput_per_s,request_goodput_per_s,output_throughput_tok_s,input_throughput_tok_s,"
    "total_throughput_tok_s,output_tok_s_per_gpu,total_tok_s_per_gpu,output_tok_s_per_user,"
    "output_tok_s_per_decode_gpu,input_tok_s_per_prefill_gpu,output_tok_s_per_allocated_gpu,"
    "gpu_hour_price_usd,cost_usd_per_million_output_tokens,cost_usd_per_million_total_tokens,"
    "slo_met,slo_missed,client_saturated,client_lag_p99_ms,started_at,duration_s,digest,job_id,"
    "half_width_95_request_throughput_per_s,half_width_95_output_throughput_tok_s,"
    "half_width_95_output_tok_s_per_gpu,half_width_95_output_tok_s_per_user,"
    "half_width_95_p50_ttft_ms,half_width_95_p99_ttft_ms,half_width_95_p50_itl_ms,half_width_95_p99_itl_ms,"
    "half_width_95_p50_e2el_ms,half_width_95_p99_e2el_ms"
)
METRICS = {"mean_ttft_ms": 12.5, "output_throughput_tok_s": 170.66666, "output_tok_s_per_gpu": 10.666666}


def table(tree, **options):
    """The CSV as a person reads it: what is not empty in each row."""
    text = csv_text(sweep_rows(load_sweep(tree.root, options.pop("only", None)), **options))
    lines = csv.DictReader(io.StringIO(text))
    return [{name: cell for name, cell in line.items() if cell != ""} for line in lines]


def test_the_columns_and_their_order():
    assert ",".join(NAMES) == HEAD


def test_golden(tree):
    tree.plan("a", {"c1": 1, "c2": 2})
    tree.put("a/run.json", {"schema": 1, "digest": "D-a", "job_id": 42})
    tree.result("a", "c1", METRICS)
    tree.invalid("a", "c2", 'model "other", not "tiny-model"', metrics={"mean_ttft_ms": 9})
    deployment = {
        **{"configuration": "a", "name": "tiny", "recipe": "config/recipes/tiny.yaml", "engine": "simulator"},
        **{"frontend": "sglang-router", "model": "tiny-model", "gpu_type": "h100", "job_id": "42"},
        **{"nodes": "2", "gpus_per_node": "8", "allocated_gpus": "16", "total_gpus": "16"},
        **{"prefill_gpus": "8", "decode_gpus": "8", "agg_gpus": "0"},
        **{"num_prefill": "1", "num_decode": "1", "num_agg": "0"},
        **{"prefill_tp": "8", "prefill_pp": "1", "prefill_dp": "1", "prefill_ep": "1"},
        **{"decode_tp": "8", "decode_pp": "1", "decode_dp": "1", "decode_ep": "1"},
    }
    measured = {
        **{"isl": "1024", "osl": "128", "request_rate": "inf", "repeat": "0"},
        **{"requests_asked": "80", "requests_completed": "80", "requests_failed": "0"},
        **{"input_tokens": "81920", "output_tokens": "10240"},
        **{"started_at": "2025-03-01T10:00:00+00:00", "duration_s": "60.5"},
    }
    assert table(tree, only=["a", "b"]) == [
        deployment
        | measured
        | {"point": "c1", "concurrency": "1", "status": "valid", "digest": "P-c1", "mean_ttft_ms": "12.5"}
        | {"output_throughput_tok_s": "170.66666", "output_tok_s_per_gpu": "10.666666"}
        | {"output_tok_s_per_allocated_gpu": "10.66666625"},
        deployment
        | measured
        | {"point": "c2", "concurrency": "2", "status": "invalid", "digest": "P-c2", "mean_ttft_ms": "9.0"}
        | {"reason": 'model "other", not "tiny-model"'},
        {"configuration": "b", "status": "not run", "reason": "no plan"},
    ]


def test_unknown_metrics_come_last_so_that_known_columns_stay(tree):
    tree.plan("a", {"c1": 1})
    tree.result("a", "c1", {"zeta": 1, "alpha_ms": 2})
    head, row = csv_text(sweep_rows(load_sweep(tree.root))).splitlines()
    assert head == f"{HEAD},alpha_ms,zeta"
    assert row.endswith(",2.0,1.0")


def test_a_metric_takes_the_place_of_no_other_column(tree):
    tree.plan("a", {"c1": 1})
    names = (
        "configuration",
        "status",
        "point",
        "total_gpus",
        "concurrency",
        "repeat",
        "duration_s",
        "job_id",
    )
    tree.result("a", "c1", dict.fromkeys(names, 7.0) | {"p99_ttft_ms": 12.0, "answers": 3.0})
    [row] = table(tree)
    assert [row.get(name) for name in names] == ["a", "valid", "c1", "16", "1", "0", "60.5", None]
    assert {row[f"custom_{name}"] for name in names} == {"7.0"}
    assert (row["p99_ttft_ms"], row["answers"]) == ("12.0", "3.0")


def test_errors_are_counted_by_kind(tree):
    tree.plan("a", {"c1": 1})
    counts = {"asked": 80, "completed": 75, "failed": 5, "errors": {"timeout": 2, "http_500": 3}}
    tree.result("a", "c1", {}, requests=counts, client={"saturated": True, "lag_ms_p99": 7.5})
    [row] = table(tree)
    assert row["request_errors"] == "http_500=3;timeout=2"
    assert (row["client_saturated"], row["client_lag_p99_ms"]) == ("true", "7.5")


def test_objectives_mark_a_point_and_hide_no_number(tree):
    tree.plan("a", {"c1": 1, "c2": 2})
    missed = ["ttft_p99_ms is 30, at most 20 was asked"]
    slo = {"met": False, "missed": missed, "limits": {"ttft_p99_ms": 20}, "observed": {"ttft_p99_ms": 30}}
    tree.result("a", "c1", METRICS, slo=slo)
    tree.result("a", "c2", METRICS, slo=slo | {"met": True, "missed": []})
    first, second = table(tree)
    assert (first["status"], first["slo_met"], first["slo_missed"]) == ("valid", "false", missed[0])
    assert first["mean_ttft_ms"] == "12.5"
    assert (second["slo_met"], "slo_missed" in second) == ("true", False)


def test_gpus_that_no_worker_uses_are_allocated_all_the_same(tree):
    # Two replicas of TP 2 on one node of eight, and a node for the services alone.
    shape = {"total_nodes": 2, "gpus_per_node": 8, "num_agg": 2, "agg_gpus": 4, "total_gpus": 4}
    tree.plan("a", {"c1": 1}, topology=shape)
    tree.result("a", "c1", {"output_throughput_tok_s": 320.0, "output_tok_s_per_gpu": 80.0})
    [row] = sweep_rows(load_sweep(tree.root))
    assert (row["total_gpus"], row["allocated_gpus"], row["num_agg"], row["agg_tp"]) == (4, 16, 2, 2)
    assert row["output_tok_s_per_allocated_gpu"] == 20.0


def test_cost_is_the_price_of_the_gpu_hours_that_a_million_tokens_take(tree):
    # 100 tok/s a GPU are 0.36 M tokens an hour: at $1.80 an hour, $5 for a million.
    tree.plan("a", {"c1": 1}, cluster={"gpu_hour_price": {"H100": 9.0}})
    tree.result("a", "c1", {"output_tok_s_per_gpu": 100.0, "total_tok_s_per_gpu": 1000.0})
    [row] = sweep_rows(load_sweep(tree.root), {"h100": 1.8})
    assert row["gpu_hour_price_usd"] == 1.8
    assert row["cost_usd_per_million_output_tokens"] == pytest.approx(5.0)
    assert row["cost_usd_per_million_total_tokens"] == pytest.approx(0.5)
    [planned] = sweep_rows(load_sweep(tree.root))
    assert planned["gpu_hour_price_usd"] == 9.0, "without another, the price it was planned with"
    [unknown] = sweep_rows(load_sweep(tree.root), {"b200": 4.0})
    assert unknown["cost_usd_per_million_output_tokens"] is None


def test_parquet_has_the_types_of_the_columns_and_their_meaning(tree, tmp_path):
    import pandas
    import pyarrow.parquet

    tree.plan("a", {"c1": 1, "c2": 2})
    tree.result("a", "c1", METRICS)
    (tmp_path / "t.parquet").write_bytes(parquet_bytes(sweep_rows(load_sweep(tree.root))))
    schema = pyarrow.parquet.read_schema(tmp_path / "t.parquet")
    kinds = {"text": "string", "integer": "int64", "number": "double", "flag": "bool"}
    assert [(f.name, str(f.type)) for f in schema] == [(c.name, kinds[c.kind]) for c in COLUMNS]
    assert schema.field("total_gpus").metadata[b"description"].startswith(b"GPUs of all workers")
    frame = pandas.read_parquet(tmp_path / "t.parquet")
    assert list(frame["request_rate"]) == [float("inf")] * 2
    assert list(frame["status"]) == ["valid", "not run"]
    assert frame["mean_ttft_ms"].isna().tolist() == [False, True]
