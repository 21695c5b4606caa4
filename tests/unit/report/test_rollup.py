"""The roll-up in the form that srt-slurm's users read."""

import json

from servesweep.report.rollup import p90_running_requests
from servesweep.report.write import write_report

METRICS = {
    **{"output_throughput_tok_s": 320.0, "total_throughput_tok_s": 2880.1234, "output_tok_s_per_user": 125.0},
    **{"request_throughput_per_s": 2.5, "mean_ttft_ms": 12.5, "p99_ttft_ms": 30.0, "median_ttft_ms": 11.25},
    **{
        "mean_tpot_ms": 8.5,
        "p99_tpot_ms": 9.5,
        "median_tpot_ms": 8.0,
        "mean_itl_ms": 8.25,
        "p99_itl_ms": 20.0,
    },
    **{"median_itl_ms": 7.75, "mean_e2el_ms": 1100.0},
}


def test_golden(tree):
    tree.plan("a", {"c16": 16, "c4": 4, "c1": 1})
    tree.result("a", "c16", METRICS)
    tree.result("a", "c4", METRICS)
    tree.invalid("a", "c1", "no")
    tree.put("a/logs/n1_decode_w0.out", "x #running-req: 3, y\n" * 9 + "#running-req: 16\n")
    write_report(tree.root)
    rolled = json.loads((tree.root / "a/benchmark-rollup.json").read_text())
    assert rolled["config"] == {"model": "tiny-model", "isl": 1024, "osl": 128}
    assert (rolled["benchmark_type"], rolled["timestamp"]) == ("sa-bench", "2025-03-01T10:00:00+00:00")
    assert rolled["runs"][0] == {
        **{"concurrency": 16, "throughput_toks": 320.0, "request_throughput": 2.5},
        **{"ttft_mean_ms": 12.5, "ttft_p99_ms": 30.0, "tpot_mean_ms": 8.5, "tpot_p99_ms": 9.5},
        **{"itl_mean_ms": 8.25, "itl_p99_ms": 20.0, "e2el_mean_ms": 1100.0, "completed_requests": 80},
        **{"total_input_tokens": 81920, "total_output_tokens": 10240},
    }
    assert (tree.root / "a/benchmark-rollup.csv").read_text().splitlines() == [
        "Config,Total GPU Count,Decode GPU Count,Total Working GPU Count,Decode Working GPU Count,"
        "Prefill Working GPU Count,Concurrency,Total Token Throughput,Output Token Throughput,Median TTFT,"
        "Median TPOT,Median ITL,P90 Decode Running Requests,Output Token Throughput per User,"
        "Total Token Throughput per GPU",
        "a,16,8,16,8,8,4,2880.123,320,11.25,8,7.75,3,125,180.008",
        "a,16,8,16,8,8,16,2880.123,320,11.25,8,7.75,3,125,180.008",
    ]


def test_aggregated_workers_decode_on_the_nodes_that_they_take(tree):
    shape = {"total_nodes": 3, "gpus_per_node": 8, "num_agg": 3, "agg_gpus": 12}
    shape |= {"prefill_gpus": 0, "decode_gpus": 0, "total_gpus": 12}
    tree.plan("a", {"c1": 1}, topology=shape)
    tree.result("a", "c1", METRICS)
    write_report(tree.root)
    line = (tree.root / "a/benchmark-rollup.csv").read_text().splitlines()[1]
    assert line.startswith("a,16,16,12,12,0,1,"), "two nodes hold workers, the third a service"


def test_one_that_no_longer_holds_is_removed(tree):
    tree.plan("a", {"c1": 1})
    tree.result("a", "c1", METRICS)
    write_report(tree.root)
    tree.plan("a", {"c2": 2})
    write_report(tree.root)
    assert not list(tree.root.glob("a/benchmark-rollup.*"))


def test_without_decode_logs_nobody_counted(tmp_path):
    assert p90_running_requests(tmp_path / "none") is None
