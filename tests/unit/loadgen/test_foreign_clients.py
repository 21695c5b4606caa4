"""What other programs tell, in this project's words: exports of aiperf and lm-eval, whole and broken."""

from __future__ import annotations

import importlib.util
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import require

from servesweep.loadgen import aiperf, evaluation
from servesweep.loadgen.foreign import Ended, run_to_the_end

NAMES = {"configuration": "c", "point": "c2", "digest": "d", "model": "llama"}
ENDED = Ended(0, ["fine"], "2026-01-01T00:00:00.000+00:00", 9.0)


@pytest.fixture(autouse=True)
def clients() -> None:
    for package, extra in (("aiperf", "aiperf"), ("lm_eval", "lm-eval")):
        require(package, importlib.util.find_spec(package) is not None, f"uv pip install -e '.[{extra}]'")


def figure(**stats: float) -> dict[str, Any]:
    return {"unit": "ms", **stats}


EXPORT: dict[str, Any] = {
    "request_count": {"avg": 9.0},
    "error_request_count": {"avg": 1.0},
    "error_summary": [{"error_details": {"code": 500, "type": "x", "message": "no luck"}, "count": 1}],
    "time_to_first_token": figure(avg=20.0, p50=19.0, p90=25.0, p95=27.0, p99=30.0, std=2.0),
    "inter_token_latency": figure(avg=5.0, p50=4.0, p99=9.0),
    "output_token_throughput": {"avg": 800.0},
    "total_isl": {"avg": 900.0},
    "total_osl": {"avg": 90.0},
    "benchmark_duration": {"avg": 2.0},
    "was_cancelled": False,
    "is_complete": True,
}


def about(**changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        **NAMES,
        "url": "http://host:8000",
        "tokenizer": "/tok",
        "concurrency": 2,
        "trace_file": "trace.jsonl",
        "ttft_threshold_ms": 2000,
        "itl_threshold_ms": 25,
        "seed": 42,
        "slo": {},
        "max_failed_fraction": 0.0,
        "min_duration_s": 0.0,
        "aiperf_args": {},
        "total_gpus": 4,
        "prefill_gpus": 0,
        "decode_gpus": 0,
    }
    return fields | changes


def result(
    tmp_path: Path, export: dict[str, Any] | None, ended: Ended = ENDED, **changes: Any
) -> dict[str, Any]:
    if export is not None:
        (tmp_path / aiperf.EXPORT).write_text(json.dumps(export))
    return aiperf.result_of(about(**changes), tmp_path, ended)


def test_aiperfs_figures_have_this_projects_names(tmp_path: Path) -> None:
    found = result(tmp_path, EXPORT, max_failed_fraction=0.1, slo={"ttft_p99_ms": 29})
    assert (found["valid"], found["reasons"]) == (True, [])
    metrics = found["metrics"]
    assert (metrics["mean_ttft_ms"], metrics["p99_ttft_ms"], metrics["median_tpot_ms"]) == (20.0, 30.0, 4.0)
    assert (metrics["output_tok_s_per_gpu"], metrics["output_tok_s_per_user"]) == (200.0, 250.0)
    assert metrics["p99_itl_ms"] is None
    assert found["requests"]["errors"] == {"HTTP 500": 1}
    assert found["slo"]["missed"] == ["ttft_p99_ms is 30, at most 29 was asked"]


@pytest.mark.parametrize(
    ("change", "limits", "reason"),
    [
        ({}, {}, "1 of 10 requests failed (no luck)"),
        ({"was_cancelled": True}, {"max_failed_fraction": 0.5}, "aiperf did not finish its load"),
        ({"total_osl": {"avg": 0}}, {"max_failed_fraction": 0.5},
         "the completed requests hold no output tokens"),
        ({}, {"max_failed_fraction": 0.5, "min_duration_s": 60.0}, "it lasted 2 s, at least 60 were asked"),
    ],
)  # fmt: skip
def test_what_does_not_count(
    tmp_path: Path, change: dict[str, Any], limits: dict[str, Any], reason: str
) -> None:
    assert result(tmp_path, EXPORT | change, **limits)["reasons"] == [reason]


def test_a_failing_aiperf_is_told_by_its_first_error(tmp_path: Path) -> None:
    tail = [
        "22:10:47 INFO  fine",
        "22:10:48 ERROR    Dataset configuration failed: block size",
        "Log File: x",
    ]
    found = result(tmp_path, None, Ended(1, tail, "", 3.0))
    assert found["reasons"] == ["aiperf ended with code 1: Dataset configuration failed: block size"]
    assert result(tmp_path, None)["reasons"] == ["aiperf left no result: fine"]
    box = ["Usage: x", "╭─ Error ─╮", "│ Use only   │", "│ one of both. │", "╰─────╯"]
    assert aiperf.cause_of(box) == "Use only one of both."


def test_the_words_for_aiperf(tmp_path: Path, monkeypatch: Any) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text("{}\n\n{}\n")
    words = aiperf.words(
        about(trace_file=str(trace), aiperf_args={"warmup-request-count": 3, "x": True}), tmp_path
    )
    said = " ".join(words)
    assert "--no-fixed-schedule --concurrency 2 --request-count 2" in said
    assert said.endswith("--warmup-request-count 3 --x")
    monkeypatch.setenv("AIPERF_SERVER_METRICS_URLS", "http://a/metrics,http://b/metrics")
    assert "--server-metrics http://a/metrics http://b/metrics" in " ".join(
        aiperf.words(about(trace_file=str(trace)), tmp_path)
    )
    own = about(trace_file=str(trace), aiperf_args={"no-server-metrics": True})
    assert "--server-metrics" not in aiperf.words(own, tmp_path)
    fixed = aiperf.words(about(trace_file=str(trace), concurrency=None), tmp_path)
    assert "--fixed-schedule" in fixed
    assert "--concurrency" not in fixed


def test_aiperf_is_given_time_unless_the_user_says_how_much(monkeypatch: Any) -> None:
    monkeypatch.setenv("AIPERF_SERVICE_START_TIMEOUT", "7")
    found = aiperf.environment()
    assert found["AIPERF_SERVICE_REGISTRATION_TIMEOUT"] == "300"
    assert "AIPERF_SERVICE_START_TIMEOUT" not in found
    assert "HF_HUB_OFFLINE" not in found


def test_aiperf_finds_a_tokenizers_directory_without_the_hub(tmp_path: Path) -> None:
    directory, cache = tmp_path / "tok", tmp_path / "cache"
    directory.mkdir()
    (directory / "tokenizer.json").write_text("{}")
    said = aiperf.tokenizer(about(tokenizer=str(directory)), cache)["tokenizer"]
    found = aiperf.environment(cache)
    look = "import sys, huggingface_hub as h; print(h.snapshot_download(sys.argv[1], local_files_only=True))"
    ended = run_to_the_end([sys.executable, "-c", look, said], found)
    assert (Path(ended.tail[-1]) / "tokenizer.json").read_text() == "{}"
    assert aiperf.tokenizer(about(tokenizer="openai/gpt-oss-120b"), cache) == {}
    assert aiperf.tokenizer(about(tokenizer=None), cache) == {}


def test_no_point_has_the_texts_of_another() -> None:
    assert aiperf.seed(about()) == aiperf.seed(about(model="other"))
    assert len({aiperf.seed(about()), aiperf.seed(about(point="c4")), aiperf.seed(about(seed=1))}) == 3


REPORT = {
    "results": {
        "gsm8k": {
            "alias": "gsm8k",
            "exact_match,strict-match": 0.5,
            "exact_match_stderr,strict-match": 0.01,
            "exact_match,flexible-extract": 0.75,
            "exact_match_stderr,flexible-extract": 0.02,
        },
        "other": {"acc,none": 0.25, "acc_stderr,none": "N/A"},
    }
}


def test_lm_evals_metrics() -> None:
    metrics = evaluation.metrics_of(REPORT)
    assert (metrics["accuracy"], metrics["accuracy_stderr"]) == (0.75, 0.02)
    assert metrics["gsm8k_exact_match_strict_match"] == 0.5
    assert metrics["other_acc"] == 0.25


QUESTIONS: dict[str, Any] = {
    **NAMES, "url": "http://host:8000", "tokenizer": "/tok", "tasks": ["gsm8k"], "task_file": None,
    "api": "chat", "num_examples": 9, "num_shots": 5, "num_threads": 4, "max_tokens": 64,
    "temperature": None, "top_p": None, "top_k": None, "request_timeout_s": 60.0,
    "max_context_length": None,
}  # fmt: skip


def answered(directory: Path, *texts: str) -> Path:
    (directory / "llama").mkdir()
    (directory / "llama/results_2026.json").write_text(json.dumps(REPORT))
    rows = [json.dumps({"doc_id": n, "resps": [[text]]}) for n, text in enumerate(texts)]
    (directory / "llama/samples_gsm8k_2026.jsonl").write_text("\n".join(rows))
    return directory


def test_empty_answers_are_counted_and_all_empty_is_no_measurement(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    found = evaluation.result_of(QUESTIONS, answered(tmp_path / "a", "42", " "), ENDED)
    assert found["valid"]
    assert "1 of 2 answers are empty." in found["notes"]
    (tmp_path / "b").mkdir()
    found = evaluation.result_of(QUESTIONS, answered(tmp_path / "b", "", ""), ENDED)
    assert found["reasons"] == ["all 2 answers are empty"]


def test_a_failing_lm_eval_is_told_by_its_last_line(tmp_path: Path) -> None:
    found = evaluation.result_of(QUESTIONS, tmp_path, Ended(1, ["a", "ValueError: no such task"], "", 1.0))
    assert found["reasons"] == ["lm-eval ended with code 1: ValueError: no such task"]


def test_the_words_for_lm_eval(tmp_path: Path) -> None:
    words = evaluation.words(QUESTIONS, None, tmp_path)
    said = dict(pairwise(words))
    assert (said["--model"], said["--tasks"], said["--limit"]) == ("local-chat-completions", "gsm8k", "9")
    model = json.loads(said["--model_args"])
    assert model["base_url"] == "http://host:8000/v1/chat/completions"
    assert "tokenizer" not in model
    likely = evaluation.model_arguments({**QUESTIONS, "api": "completions", "max_context_length": 1000})
    assert (likely["tokenizer"], likely["max_length"], likely["truncate"]) == ("/tok", 1000, True)
    task = tmp_path / "mine.yaml"
    task.write_text("task: mine\ndoc_to_text: !function utils.text\n")
    assert "mine" in evaluation.words(QUESTIONS, task, tmp_path)
    task.write_text("output_type: generate_until\n")
    with pytest.raises(ValueError, match="it names no task"):
        evaluation.words(QUESTIONS, task, tmp_path)


def test_a_program_is_run_to_its_end_and_its_last_lines_are_kept(capfd: Any) -> None:
    ended = run_to_the_end(["bash", "-c", "echo -e '\\e[31mred\\e[0m'; exit 3"])
    assert (ended.code, ended.tail) == (3, ["red"])
    assert "red" in capfd.readouterr().out
