"""Every type of benchmark against a real server: what is sent, what is written, and what goes wrong."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.long

DATA = """
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: sums.jsonl}}
test_split: test
doc_to_text: "What is {{a}} and {{b}}?"
"""
WRITTEN = (
    DATA
    + """
output_type: generate_until
doc_to_target: "{{sum}}"
generation_kwargs: {until: ["\\n"], do_sample: false}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""
)
CHOSEN = (
    DATA
    + """
output_type: multiple_choice
doc_to_choice: ["1", "2", "3", "4"]
doc_to_target: "{{a}}"
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
"""
)


def write(quick: Any, name: str, rows: list[dict[str, Any]]) -> str:
    """Write JSON lines into the project."""
    quick.project.write(name, "".join(json.dumps(row) + "\n" for row in rows))
    return name


def run(quick: Any, benchmark: dict[str, Any], args: dict[str, Any] | None = None) -> None:
    quick.recipe(args, benchmark=benchmark)
    done = quick.run()
    assert done.returncode == 0, done.stdout


def log_of(quick: Any, point: str) -> list[dict[str, Any]]:
    path: Path = quick.project.root / f"results/quick/points/{point}/requests.parquet"
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def test_a_file_of_prompts_and_no_lengths(quick: Any) -> None:
    file = write(
        quick,
        "prompts.jsonl",
        [
            {"prompt": "one two three", "output_tokens": 3},
            {"messages": [{"role": "user", "content": "four five"}], "output_tokens": 5},
        ],
    )
    load = {"dataset_name": "custom", "dataset_path": file, "use_chat_template": True, "concurrencies": "1x2"}
    run(quick, {"type": "sa-bench", **load, "num_prompts_mult": 2})
    first, second = quick.json("points/c1/result.json"), quick.json("points/c2/result.json")
    assert sorted(row["output_tokens"] for row in log_of(quick, "c2")) == [3, 3, 5, 5]
    assert (first["prompts"]["source"], first["prompts"]["distinct"]) == (file, 2)
    # A salt keeps one point from warming the cache of the other.
    assert first["prompts"]["sha256"] != second["prompts"]["sha256"]
    assert "4 requests had 2 different prompts" in " ".join(second["notes"])


def test_conversations_in_the_form_of_sharegpt(quick: Any) -> None:
    turns = [{"from": "human", "value": "hello there"}, {"from": "gpt", "value": "one two three four"}]
    quick.project.write("chats.json", json.dumps([{"conversations": turns}]))
    load = {"dataset_name": "sharegpt", "dataset_path": "chats.json", "concurrencies": 1}
    run(quick, {"type": "sa-bench", **load, "osl": 6, "num_prompts_mult": 1})
    assert [row["output_tokens"] for row in log_of(quick, "c1")] == [6]


def test_a_broken_file_of_prompts_is_one_sentence(quick: Any) -> None:
    quick.project.write("broken.jsonl", '{"prompt": "fine", "output_tokens": 2}\nnot JSON\n')
    load = {"dataset_name": "custom", "dataset_path": "broken.jsonl", "concurrencies": 1}
    quick.recipe(benchmark={"type": "sa-bench", **load})
    assert quick.run().returncode == 1
    assert "broken.jsonl:2 is not JSON" in "\n".join(quick.json("failure.json")["tail"])


def test_a_missing_file_is_refused_before_anything_starts(quick: Any) -> None:
    quick.recipe(benchmark={"type": "sa-bench", "dataset_name": "custom", "dataset_path": "no.jsonl",
                            "concurrencies": 1})  # fmt: skip
    done = quick.project.servesweep("validate", "config/recipes", "--cluster", "config/local.yaml")
    assert done.returncode != 0
    assert "there is no such file: no.jsonl" in done.stdout


def test_a_missing_package_is_refused_before_anything_starts(quick: Any) -> None:
    load = {"isl": 8, "osl": 4, "concurrencies": 1, "custom_tokenizer": "no_such_package.Tokenizer"}
    quick.recipe(benchmark={"type": "sa-bench", **load})
    done = quick.project.servesweep("validate", "config/recipes", "--cluster", "config/local.yaml")
    assert done.returncode != 0
    assert "the Python package 'no_such_package' is not installed" in done.stdout


def test_sglang_bench(quick: Any) -> None:
    load = {"isl": 8, "osl": 4, "concurrencies": 4, "random_range_ratio": 1.0, "num_prompts": 10}
    run(quick, {"type": "sglang-bench", **load})
    result = quick.json("points/c4/result.json")
    assert result["requests"]["completed"] == 10
    assert result["tokens"] == {"input": 80, "output": 40}


def test_the_points_of_router_share_beginnings(quick: Any) -> None:
    load = {"isl": 40, "osl": 2, "num_requests": 6, "concurrency": 2, "num_prefix_prompts": 2}
    run(quick, {"type": "router", **load, "prefix_ratios": "0 0.5"})
    results = [quick.json(f"points/{point}/result.json") for point in ("prefix0", "prefix0.5")]
    assert [result["tokens"]["input"] for result in results] == [240, 240]
    assert [result["prompts"]["shared_prefix_ratio"] for result in results] == [0.0, 0.5]


def test_repeats_come_with_an_interval_and_an_objective_marks_a_point(quick: Any) -> None:
    slo = {"ttft_p99_ms": 60000, "tpot_mean_ms": 0.001}
    load = {"isl": 8, "osl": 4, "concurrencies": 2, "num_prompts_mult": 2, "repeats": 3, "slo": slo}
    run(quick, {"type": "sa-bench", **load})
    results = [quick.json(f"points/{point}/result.json") for point in ("c2", "c2-k1", "c2-k2")]
    assert len({result["prompts"]["sha256"] for result in results}) == 3
    assert quick.project.servesweep("report", "results").returncode == 0
    together = quick.json("repeats.json")["levels"]["c2"]
    assert together["points"] == ["c2", "c2-k1", "c2-k2"]
    seen = [result["metrics"]["mean_ttft_ms"] for result in results]
    assert together["metrics"]["mean_ttft_ms"]["mean"] == pytest.approx(sum(seen) / 3)
    assert together["metrics"]["mean_ttft_ms"]["half_width_95"] > 0
    for result in results:
        assert (result["valid"], result["slo"]["met"]) == (True, False)
        assert [clause.partition(" ")[0] for clause in result["slo"]["missed"]] == ["tpot_mean_ms"]


def test_limits_of_the_recipe_decide_whether_a_point_counts(quick: Any) -> None:
    load = {"isl": 8, "osl": 4, "concurrencies": 1, "num_prompts_mult": 2, "num_warmup_mult": 0}
    quick.recipe(benchmark={"type": "sa-bench", **load, "min_duration_s": 3600})
    assert quick.run().returncode == 1
    (reason,) = quick.json("points/c1/invalid.json")["reasons"]
    assert reason.endswith("at least 3600 were asked")


def test_a_tokenizer_class_of_ones_own_makes_the_prompts(quick: Any, monkeypatch: Any) -> None:
    code = """
from tokenizers import Tokenizer
class Mine:
    def __init__(self, directory):
        self.inner = Tokenizer.from_file(directory + "/tokenizer.json")
    def encode(self, text, add_special_tokens=True):
        return self.inner.encode(text, add_special_tokens=add_special_tokens).ids
    def decode(self, ids):
        return self.inner.decode(ids)
    def get_vocab(self):
        return self.inner.get_vocab()
"""
    quick.project.write("my_tokenizers/__init__.py", code)
    monkeypatch.setenv("PYTHONPATH", str(quick.project.root))
    load = {"isl": 16, "osl": 2, "concurrencies": 1, "random_range_ratio": 1.0, "num_prompts_mult": 2}
    quick.recipe(
        benchmark={"type": "sa-bench", **load, "custom_tokenizer": "my_tokenizers.Mine"},
        model={"path": "config/models/tiny", "precision": "fp16"},
    )
    done = quick.run()
    assert done.returncode == 0, done.stdout
    assert [row["input_tokens"] for row in log_of(quick, "c1")] == [16, 16]


def needs(require: Any, package: str, extra: str) -> None:
    require(package, importlib.util.find_spec(package) is not None, f"uv pip install -e '.[{extra}]'")


TRACE = [
    {"timestamp": 0, "input_length": 520, "output_length": 4, "hash_ids": [1, 2]},
    {"timestamp": 20, "input_length": 520, "output_length": 4, "hash_ids": [1, 3]},
    {"timestamp": 40, "input_length": 20, "output_length": 3, "hash_ids": [4]},
    # aiperf makes ten new blocks or more in processes of their own.
    {"timestamp": 60, "input_length": 5200, "output_length": 5, "hash_ids": [*range(5, 16)]},
]


@pytest.mark.parametrize(
    ("benchmark", "point"),
    [({"type": "trace-replay", "concurrencies": 2}, "c2"), ({"type": "mooncake-router"}, "mooncake-router")],
)
def test_a_trace_is_replayed_by_aiperf(
    quick: Any, require: Any, benchmark: dict[str, Any], point: str
) -> None:
    needs(require, "aiperf", "aiperf")
    trace = write(quick, "trace.jsonl", TRACE)
    arguments = {"workers_max": 1, "no-server-metrics": True}
    quick.recipe(
        benchmark={**benchmark, "trace_file": trace, "aiperf_args": arguments, "slo": {"ttft_p99_ms": 60000}},
        model={"path": "config/models/tiny", "precision": "fp16"},
    )
    done = quick.run()
    assert done.returncode == 0, done.stdout
    result = quick.json(f"points/{point}/result.json")
    assert result["requests"] == {
        "asked": 4, "completed": 4, "failed": 0, "errors": {}, "error_examples": {},
    }  # fmt: skip
    assert result["tokens"]["output"] == 16
    assert result["metrics"]["p99_ttft_ms"] >= 3
    assert result["metrics"]["output_tok_s_per_gpu"] == result["metrics"]["output_throughput_tok_s"]
    assert result["slo"]["met"] is True
    assert quick.exists(f"points/{point}/aiperf/profile_export_aiperf.json")


def questions(quick: Any, require: Any, task: str) -> dict[str, Any]:
    """Three questions in the project; the part of a recipe that asks them."""
    needs(require, "lm_eval", "lm-eval")
    quick.project.write("tasks/sums.yaml", task)
    write(quick, "tasks/sums.jsonl", [{"a": n, "b": 1, "sum": str(n + 1)} for n in range(3)])
    return {"task_file": "tasks/sums.yaml", "num_shots": 0, "num_threads": 2, "max_tokens": 8}


@pytest.mark.parametrize("kind", ["gsm8k", "gpqa", "mmlu", "lm-eval"])
def test_questions_are_asked_by_lm_eval(quick: Any, require: Any, kind: str) -> None:
    asked = questions(quick, require, WRITTEN)
    run(quick, {"type": kind, **asked, "repeat": 1})
    result = quick.json(f"points/{kind}/result.json")
    assert (result["metrics"]["questions"], result["metrics"]["accuracy"]) == (3.0, 0.0)
    assert result["metrics"]["sums_exact_match"] == 0.0
    assert result["load"]["tasks"] == ["sums"]
    assert (result["requests"]["asked"], result["requests"]["completed"]) == (3, 3)


def test_choices_are_judged_by_their_likelihoods(quick: Any, require: Any) -> None:
    asked = questions(quick, require, CHOSEN)
    quick.recipe(
        benchmark={"type": "longbenchv2", **asked, "max_context_length": 4096},
        model={"path": "config/models/tiny", "precision": "fp16"},
    )
    done = quick.run()
    assert done.returncode == 0, done.stdout
    result = quick.json("points/longbenchv2/result.json")
    assert result["metrics"]["questions"] == 3.0
    assert result["metrics"]["accuracy"] == result["metrics"]["sums_acc"]
    (answers,) = quick.project.files("quick/points/longbenchv2/lm-eval/**/samples_sums_*.jsonl")
    first = json.loads((quick.project.root / "results" / answers).read_text().splitlines()[0])
    likelihoods = [float(answer[0][0]) for answer in first["resps"]]
    assert len(likelihoods) == 4
    assert all(value < 0 for value in likelihoods)


ASK = (
    "import os, json, urllib.request as u; e = os.environ;"
    " u.urlopen('http://' + e['SRT_FRONTEND_HOST'] + ':' + e['SRT_FRONTEND_PORT'] + '/health');"
    " json.dump({'limit': int(e['MY_LIMIT'])}, open(e['SERVESWEEP_METRICS'], 'w'))"
)


def with_post_eval(quick: Any, section: dict[str, Any]) -> None:
    quick.recipe(benchmark={"concurrencies": 1})
    recipe = quick.project.root / "config/recipes/quick.yaml"
    recipe.write_text(json.dumps(json.loads(recipe.read_text()) | {"post_eval": section}))


def test_a_command_after_the_load_meets_the_running_deployment(quick: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("MY_LIMIT", "7")
    after = {"command": ["python3", "-c", ASK], "passthrough_env": ["MY_LIMIT"]}
    with_post_eval(quick, after)
    done = quick.run()
    assert done.returncode == 0, done.stdout
    assert quick.json("run.json")["points"] == ["c1", "post-eval"]
    load, after = quick.json("points/c1/result.json"), quick.json("points/post-eval/result.json")
    assert after["metrics"] == {"limit": 7}
    assert after["started_at"] >= load["started_at"].partition(".")[0]


def test_a_command_after_the_load_that_fails_is_told_and_the_load_stays(quick: Any) -> None:
    with_post_eval(quick, {"command": ["true"], "passthrough_env": ["SURELY_NOT_SET"]})
    assert quick.run().returncode == 1
    assert quick.exists("points/c1/result.json")
    assert "SURELY_NOT_SET: post_eval.passthrough_env names it" in "\n".join(
        quick.json("failure.json")["tail"]
    )
