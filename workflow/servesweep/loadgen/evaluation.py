"""`python3 -m servesweep.loadgen.evaluation ABOUT.json --output DIR/result.json`: accuracy, by lm-eval.

lm-eval's own results and every answer lie in `lm-eval/` beside the result.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from servesweep.loadgen.excerpt import excerpt
from servesweep.loadgen.foreign import Ended, foreign_result, run_to_the_end, write_foreign

# The first of these that a task has is its accuracy; "strict" filters come after the lenient ones.
HEADLINES = ("exact_match", "acc", "acc_norm", "f1", "score")
LENIENT = ("flexible-extract", "none")
RETRIES = 3
LONGEST_TOLD = 300


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns 0 for a valid point, else 1."""
    parser = argparse.ArgumentParser(prog="python3 -m servesweep.loadgen.evaluation")
    parser.add_argument("about", type=Path, help="JSON with the point's names, the server and the questions")
    parser.add_argument("--output", type=Path, required=True, help="where a valid result is written")
    options = parser.parse_args(arguments)
    about = json.loads(options.about.read_text())
    output = options.output.resolve()
    directory = output.with_name("lm-eval")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    task_file = Path(about["task_file"]).resolve() if about["task_file"] else None
    try:
        said = words(about, task_file, directory)
    except (OSError, ValueError, yaml.YAMLError) as error:
        print(f"lm-eval: {about['point']}: cannot read the task {task_file}: {error}", file=sys.stderr)
        return 1
    # A task's file names its data from where it lies itself.
    place = task_file.parent if task_file else None
    ended = run_to_the_end([sys.executable, "-m", "lm_eval", *said], _environment(about, directory), place)
    return write_foreign(result_of(about, directory, ended), output, "lm-eval")


def words(about: Mapping[str, Any], task_file: Path | None, directory: Path) -> list[str]:
    """lm-eval's arguments; raises OSError, ValueError or YAMLError for an unreadable task file."""
    tasks = list(about["tasks"])
    made = ["run", "--output_path", str(directory), "--log_samples"]
    if task_file is not None:
        tasks = [_task_name(task_file)]
        made += ["--include_path", str(task_file.parent)]
    made += ["--tasks", ",".join(tasks), "--model", f"local-{'chat-' * (about['api'] == 'chat')}completions"]
    made += ["--model_args", json.dumps(model_arguments(about))]
    if about["api"] == "chat":
        made += ["--apply_chat_template"]
    for flag, key in (("--limit", "num_examples"), ("--num_fewshot", "num_shots")):
        if about[key] is not None:
            made += [flag, str(about[key])]
    sampling = {
        "max_gen_toks": about["max_tokens"],
        **{key: about[key] for key in ("temperature", "top_p", "top_k")},
    }
    if said := {key: value for key, value in sampling.items() if value is not None}:
        made += ["--gen_kwargs", json.dumps(said | ({"do_sample": True} if about["temperature"] else {}))]
    return made


def model_arguments(about: Mapping[str, Any]) -> dict[str, Any]:
    """How lm-eval reaches the server; a tokenizer is needed for likelihoods alone."""
    path = "chat/completions" if about["api"] == "chat" else "completions"
    made: dict[str, Any] = {
        "model": about["model"],
        "base_url": f"{about['url']}/v1/{path}",
        "num_concurrent": about["num_threads"],
        "max_retries": RETRIES,
        "timeout": int(about["request_timeout_s"]),
    }
    if about["api"] == "completions" and about["tokenizer"]:
        made |= {"tokenizer": about["tokenizer"], "tokenizer_backend": "huggingface"}
        if about["max_context_length"]:
            made |= {"max_length": about["max_context_length"], "truncate": True}
    else:
        made |= {"tokenizer_backend": "none", "tokenized_requests": False}
    return made


def _task_name(task_file: Path) -> str:
    # A task's file may call functions, which only lm-eval itself can read.
    found = re.search(r"^(?:task|group):\s*(\S+)\s*$", task_file.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError("it names no task")
    return found[1].strip("\"'")


def _environment(about: Mapping[str, Any], directory: Path) -> dict[str, str]:
    """Where the data of a task of one's own is converted: beside the result, or an old one might be taken."""
    env = {"TOKENIZERS_PARALLELISM": "false", "OPENAI_API_KEY": os.environ.get("OPENAI_API_KEY", "none")}
    if about["task_file"]:
        env |= {"HF_DATASETS_CACHE": str(directory / "data"), "HF_DATASETS_OFFLINE": "1"}
        env |= {"HF_HUB_OFFLINE": "1"}
    return env


def result_of(about: Mapping[str, Any], directory: Path, ended: Ended) -> dict[str, Any]:
    """The point's record from lm-eval's results, valid or not."""
    files = sorted(directory.rglob("results_*.json"))
    report = json.loads(files[-1].read_bytes()) if files else {}
    asked, empty = answers(directory)
    return foreign_result(
        about,
        reasons=[*_reasons(report, ended, asked, empty)],
        load={
            "tasks": list(report.get("results", {})) or list(about["tasks"]),
            "concurrency": about["num_threads"],
            **{key: about[key] for key in ("task_file", "api", "num_examples", "num_shots", "max_tokens")},
        },
        started_at=ended.started_at,
        duration_s=ended.duration_s,
        metrics=metrics_of(report) | ({"questions": float(asked)} if asked else {}),
        notes=[
            f"Measured by lm-eval {importlib.metadata.version('lm_eval')}.",
            *([f"{empty} of {asked} answers are empty."] if empty else []),
        ],
        requests={"asked": asked, "completed": asked - empty, "failed": 0, "errors": {}},
    )


def _reasons(report: Mapping[str, Any], ended: Ended, asked: int, empty: int) -> Iterator[str]:
    if ended.code or not report:
        told = f"lm-eval ended with code {ended.code}" if ended.code else "lm-eval left no result"
        yield excerpt(f"{told}: {ended.tail[-1] if ended.tail else 'it said nothing'}", LONGEST_TOLD)
    elif not asked:
        yield "no question was asked"
    elif empty == asked:
        yield f"all {asked} answers are empty"


def metrics_of(report: Mapping[str, Any]) -> dict[str, float | None]:
    """`<task>_<metric>_<filter>` of every task and group, with `_stderr`, and `accuracy`, the first one's."""
    metrics: dict[str, float | None] = {}
    for task, values in report.get("results", {}).items():
        for key, value in values.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and "," in key:
                metric, _, kind = key.partition(",")
                name = f"{task}_{metric}" if kind == "none" else f"{task}_{metric}_{kind}"
                metrics[re.sub(r"\W", "_", name)] = float(value)
        if "accuracy" not in metrics:
            metrics |= _headline(values)
    return metrics


def _headline(values: Mapping[str, Any]) -> dict[str, float | None]:
    """Accuracy and its standard error, by the usual metric of the task."""
    for metric in HEADLINES:
        found = [key for key in values if key.partition(",")[0] == metric]
        found.sort(key=lambda key: key.partition(",")[2] not in LENIENT)
        for key in found:
            error = values.get(f"{metric}_stderr,{key.partition(',')[2]}")
            known = float(error) if isinstance(error, int | float) else None
            return {"accuracy": float(values[key]), "accuracy_stderr": known}
    return {}


def answers(directory: Path) -> tuple[int, int]:
    """Questions that were asked, and how many of them got an empty text."""
    asked: dict[tuple[str, Any], bool] = {}
    for file in sorted(directory.rglob("samples_*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            sample = json.loads(line)
            said = [text for choice in sample.get("resps", []) for text in choice if isinstance(text, str)]
            empty = bool(said) and not any(text.strip() for text in said)
            asked[file.name, sample.get("doc_id")] = empty
    return len(asked), sum(asked.values())


if __name__ == "__main__":
    sys.exit(main())
