"""The table for a terminal: what a person sees at the end of a sweep."""

from servesweep.report.glance import glance
from servesweep.report.sweep import load_sweep
from servesweep.report.terminal import shortened, summary_table

METRICS = {
    **{
        "request_throughput_per_s": 1.333,
        "output_throughput_tok_s": 12170.66,
        "output_tok_s_per_gpu": 760.67,
    },
    **{"output_tok_s_per_user": 125.0, "p50_ttft_ms": 12.5, "p99_ttft_ms": 1040.0},
    **{"p50_itl_ms": 8.0, "p99_itl_ms": 9.125},
}


GOLDEN = """\
                                                                        TTFT ms           ITL ms
configuration  point  status   req/s  out tok/s  tok/s/GPU  tok/s/user      p50      p99     p50   p99
a              c1     valid     1.33   12,170.7      760.7       125.0     12.5  1,040.0    8.00  9.12
a              c16    invalid
b              c1     failed
c                     not run

3 configurations; points: 1 valid, 1 invalid, 1 failed, 1 not run

invalid  a c16: 3 of 80 requests failed
failed   b: workers: decode_0 ended (on node7)
not run  c: no plan
"""


def test_golden(tree):
    tree.plan("a", {"c1": 1, "c16": 16})
    tree.result("a", "c1", METRICS)
    tree.invalid("a", "c16", "3 of 80 requests failed")
    tree.plan("b", {"c1": 1})
    tree.put(
        "b/failure.json",
        {"schema": 1, "digest": "D-b", "stage": "workers", "message": "decode_0 ended", "node": "node7"},
    )
    assert summary_table(tree.root, ["a", "b", "c"]) == GOLDEN


def test_the_last_line_of_a_log_is_told_with_the_failure_and_obeyed_by_no_terminal(tree):
    tree.plan("b", {"c1": 1})
    failure = {"schema": 1, "digest": "D-b", "stage": "workers", "message": "agg_0 ended", "exit_code": 1}
    lines = [
        "loading",
        "\x1b[31mRuntimeError: no\tGPU \x07here\x1b[0m",
        "srun: error: n1: Exited",
        "  ",
    ]
    tree.put("b/failure.json", failure | {"tail": lines})
    told = "failed   b: workers: agg_0 ended (exit code 1); last line: RuntimeError: no GPU here"
    assert told in summary_table(tree.root).splitlines()
    tree.put("b/failure.json", failure | {"tail": ["word " * 100]})
    (last,) = summary_table(tree.root).split("last line: ")[1:]
    assert len(" ".join(last.split())) <= 160


def test_points_of_a_client_that_was_too_busy_are_counted_here_and_on_the_page(tree):
    tree.plan("a", {"c1": 1, "c16": 16})
    tree.result("a", "c1", METRICS, client={"saturated": True})
    tree.result("a", "c16", METRICS, client={"saturated": False})
    told = "too busy for the times to be trusted in 1 of them (client_saturated): a c1; use a quiet machine"
    assert told in summary_table(tree.root)
    sweep = load_sweep(tree.root)
    assert "client saturated in 1 of 2 points" in glance(sweep, []).facts


def test_of_many_points_of_a_busy_client_four_are_named(tree):
    tree.plan("a", {f"c{n}": n for n in range(1, 7)})
    for n in range(1, 7):
        tree.result("a", f"c{n}", METRICS, client={"saturated": True})
    told = " ".join(summary_table(tree.root).split())
    assert "in 6 of them (client_saturated): a c1, a c2, a c3, a c4 and 2 more; use a quiet machine" in told


def test_points_that_missed_their_objectives_are_counted(tree):
    tree.plan("a", {"c1": 1, "c2": 2, "c4": 4, "c8": 8})
    tree.result("a", "c1", METRICS, slo={"met": True})
    assert "0 of 1 valid points with objectives missed one (slo_missed)\n" in summary_table(tree.root)
    tree.result("a", "c2", METRICS, slo={"met": False, "missed": ["ttft_p99_ms is 30, at most 20 was asked"]})
    tree.result("a", "c4", METRICS)
    tree.result("a", "c8", METRICS, slo={"met": False}, valid=False)
    assert "1 of 2 valid points with objectives missed one (slo_missed): a c2\n" in summary_table(tree.root)


def test_fits_120_columns_however_long_the_names_and_reasons_are(tree):
    names = [f"deepseek-r1-{'x' * 150}-{i}" for i in range(2)]
    point = "c64"
    for name in names:
        tree.plan(name, {point: 64, "c128": 128})
        busy = {"client": {"saturated": True}, "slo": {"met": False}}
        tree.result(name, point, METRICS | {"output_throughput_tok_s": 1234567.0}, **busy)
        tree.invalid(name, "c128", "reason " * 60)
    lines = summary_table(tree.root).splitlines()
    assert max(map(len, lines)) <= 120
    shown = [line.split()[0] for line in lines if " valid " in line]
    assert [name[-2:] for name in shown[:2]] == ["-0", "-1"], "the ends tell configurations apart"


def test_many_reasons_are_cut_and_the_rest_counted(tree):
    tree.plan("a", {f"c{n}": n for n in range(1, 26)})
    for n in range(1, 26):
        tree.invalid("a", f"c{n}", f"reason {n}")
    lines = summary_table(tree.root).splitlines()
    assert lines[-2:] == ["invalid  a c20: reason 20", "… and 5 more, see summary.csv"]


def test_an_empty_directory_has_a_table_too(tree):
    assert summary_table(tree.root).endswith("0 configurations; points: none\n")


def test_shortened_keeps_both_ends():
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghij", 7) == "abc…hij"
