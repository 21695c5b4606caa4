"""The CSV of a tiny tree, in full."""

from servesweep.report.summary_csv import summary_csv
from servesweep.report.sweep import load_sweep

HEAD = (
    "configuration,name,engine,frontend,model,gpu_type,nodes,total_gpus,prefill_gpus,decode_gpus,"
    "num_prefill,num_decode,num_agg,point,isl,osl,concurrency,request_rate,repeat,status,reason,"
    "requests_asked,requests_completed,requests_failed,request_errors,input_tokens,output_tokens,"
    "mean_ttft_ms,median_ttft_ms,std_ttft_ms,p50_ttft_ms,p90_ttft_ms,p95_ttft_ms,p99_ttft_ms,"
    "mean_tpot_ms,median_tpot_ms,std_tpot_ms,p50_tpot_ms,p90_tpot_ms,p95_tpot_ms,p99_tpot_ms,"
    "mean_itl_ms,median_itl_ms,std_itl_ms,p50_itl_ms,p90_itl_ms,p95_itl_ms,p99_itl_ms,"
    "mean_e2el_ms,median_e2el_ms,std_e2el_ms,p50_e2el_ms,p90_e2el_ms,p95_e2el_ms,p99_e2el_ms,"
    "request_throughput_per_s,output_throughput_tok_s,input_throughput_tok_s,total_throughput_tok_s,"
    "output_tok_s_per_gpu,total_tok_s_per_gpu,output_tok_s_per_user,started_at,duration_s,digest,job_id"
)
DEPLOYMENT = "tiny,simulator,sglang-router,tiny-model,h100,2,16,8,8,1,1,0"
METRICS = {"mean_ttft_ms": 12.5, "output_throughput_tok_s": 170.66666, "output_tok_s_per_user": 125}


def test_golden(tree):
    tree.plan("a", {"c1": 1, "c2": 2})
    tree.put("a/run.json", {"schema": 1, "digest": "D-a", "job_id": 42})
    tree.result("a", "c1", METRICS)
    tree.invalid("a", "c2", 'model "other", not "tiny-model"', metrics={"mean_ttft_ms": 9})
    measured = "2025-03-01T10:00:00+00:00,60.5"
    assert summary_csv(load_sweep(tree.root, ["a", "b"])).splitlines() == [
        HEAD,
        f"a,{DEPLOYMENT},c1,1024,128,1,inf,0,valid,,80,80,0,,81920,10240,"
        f"12.5{',' * 29}170.66666,,,,,125.0,{measured},P-c1,42",
        f'a,{DEPLOYMENT},c2,1024,128,2,inf,0,invalid,"model ""other"", not ""tiny-model""",'
        f"80,80,0,,81920,10240,9.0{',' * 35}{measured},P-c2,42",
        f"b{',' * 19}not run,no plan{',' * 45}",
    ]


def test_unknown_metrics_come_last_so_that_known_columns_stay(tree):
    tree.plan("a", {"c1": 1})
    tree.result("a", "c1", {"zeta": 1, "goodput_per_s": 2})
    head, row = summary_csv(load_sweep(tree.root)).splitlines()
    assert head == f"{HEAD},goodput_per_s,zeta"
    assert row.endswith(",2.0,1.0")


def test_errors_are_counted_by_kind(tree):
    tree.plan("a", {"c1": 1})
    counts = {"asked": 80, "completed": 75, "failed": 5, "errors": {"timeout": 2, "http_500": 3}}
    tree.result("a", "c1", {}, requests=counts)
    assert ",80,75,5,http_500=3;timeout=2," in summary_csv(load_sweep(tree.root))
