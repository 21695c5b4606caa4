"""The clients that `client.py` compares: how each is installed, called, and read."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
MODEL = REPOSITORY / "config/models/tiny"
ISL = 16
FIGURES = ("ttft", "itl", "tpot")
VENVS = Path(os.environ.get("SERVESWEEP_BENCH_VENVS", Path.home() / ".cache/servesweep-bench"))
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


@dataclass(frozen=True)
class Load:
    """One level: requests in flight, how many in all, and how many tokens each asks for."""

    url: str
    concurrency: int
    requests: int
    osl: int
    warmup: int


@dataclass(frozen=True)
class Figures:
    """What a client reports: means and 99th percentiles in ms, output tokens/s, remarks on itself."""

    mean: dict[str, float | None]
    p99: dict[str, float | None]
    output_tok_s: float
    completed: int
    saturated: bool | None = None


@dataclass(frozen=True)
class Client:
    """A tool: its name, its package, the words that run it, and what reads its result."""

    name: str
    package: str | None
    words: Callable[[Load, Path], list[str]]
    read: Callable[[Path], Figures]
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def python(self) -> Path:
        """The interpreter of the tool's own environment."""
        return VENVS / self.name / "bin/python" if self.package else Path(sys.executable)

    def install(self) -> str:
        """Make the tool's environment; returns why that did not go, or nothing."""
        if self.package is None or self.python.exists():
            return ""
        uv = str(Path(sys.executable).with_name("uv"))
        for words in (
            [uv, "venv", "--quiet", "--python", sys.executable, str(VENVS / self.name)],
            [uv, "pip", "install", "--quiet", "--python", str(self.python), self.package],
        ):
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                shutil.rmtree(VENVS / self.name, ignore_errors=True)
                return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "uv failed"
        return ""


def _own_words(load: Load, scratch: Path) -> list[str]:
    spec = {
        "configuration": "bench",
        "point": f"c{load.concurrency}",
        "digest": "",
        "url": load.url,
        "model": "tiny",
        "tokenizer": str(MODEL),
        "isl": ISL,
        "osl": load.osl,
        "random_range_ratio": 1.0,
        "concurrency": load.concurrency,
        "num_prompts": load.requests,
        "num_warmup": load.warmup,
        "processes": 1,
    }
    (scratch / "load.json").write_text(json.dumps(spec))
    return ["-m", "servesweep.loadgen", str(scratch / "load.json"), "--output", str(scratch / "result.json")]


def _own(scratch: Path) -> Figures:
    path = scratch / "result.json"
    result = json.loads((path if path.exists() else scratch / "invalid.json").read_text())
    metrics = result["metrics"]
    return Figures(
        {name: metrics[f"mean_{name}_ms"] for name in FIGURES},
        {name: metrics[f"p99_{name}_ms"] for name in FIGURES},
        metrics["output_throughput_tok_s"],
        result["requests"]["completed"],
        result["client"]["saturated"],
    )


def _aiperf_words(load: Load, scratch: Path) -> list[str]:
    return [
        "-m", "aiperf", "profile", "--model", "tiny", "--url", load.url, "--endpoint-type", "completions",
        "--streaming", "--tokenizer", str(MODEL), "--isl", str(ISL), "--osl", str(load.osl),
        "--concurrency", str(load.concurrency), "--request-count", str(load.requests),
        "--warmup-request-count", str(load.warmup), "--extra-inputs", "ignore_eos:true",
        "--ui", "none", "--no-gpu-telemetry", "--no-server-metrics",
        "--output-artifact-dir", str(scratch / "aiperf"),
    ]  # fmt: skip


def _aiperf(scratch: Path) -> Figures:
    export = json.loads((scratch / "aiperf/profile_export_aiperf.json").read_text())
    # Its "inter token latency" is one mean for each request, which the others call TPOT.
    names = {"ttft": "time_to_first_token", "itl": "inter_chunk_latency", "tpot": "inter_token_latency"}
    return Figures(
        {name: export[theirs]["avg"] for name, theirs in names.items()},
        {name: export[theirs]["p99"] for name, theirs in names.items()},
        export["output_token_throughput"]["avg"],
        int(export["request_count"]["avg"]),
    )


def _guidellm_words(load: Load, scratch: Path) -> list[str]:
    # Its synthetic texts are English, of which the model's small vocabulary leaves nothing.
    vocabulary = sorted(json.loads((MODEL / "tokenizer.json").read_text())["model"]["vocab"])
    words = random.Random(0)
    rows = (
        {"prompt": " ".join(words.choices(vocabulary, k=ISL)), "output_tokens_count": load.osl}
        for _ in range(load.warmup + load.requests)
    )
    (scratch / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec: dict[str, Any] = {
        "backend": {
            "kind": "openai_http",
            "target": load.url,
            "model": "tiny",
            "request_format": "/v1/completions",
            "extras": {"body": {"ignore_eos": True}},
        },
        "profile": {
            "kind": "concurrent",
            "streams": [load.concurrency],
            "warmup": {"value": load.warmup, "mode": "requests"},
        },
        "tokenizer": {"kind": "hf_auto", "model": str(MODEL)},
        "data": [{"kind": "json_file", "path": str(scratch / "prompts.jsonl")}],
        "constraints": [{"kind": "max_requests", "count": load.warmup + load.requests}],
        "outputs": [{"kind": "json", "path": str(scratch / "guidellm.json")}],
    }
    (scratch / "scenario.json").write_text(
        json.dumps({"metadata": {"name": "bench"}, "spec": spec, "benchmarks": [{}]})
    )
    return ["-m", "guidellm", "run", "-c", str(scratch / "scenario.json"), "--disable-console"]


def _guidellm(scratch: Path) -> Figures:
    (benchmark,) = json.loads((scratch / "guidellm.json").read_text())["benchmarks"]
    metrics = benchmark["metrics"]
    # Its "inter token latency" is one mean for each request, weighted with the request's tokens: TPOT here,
    # with the mean of all gaps but none of their percentiles. Its "time per output token" has the TTFT in it.
    ttft, tpot = (
        metrics[f"{name}_ms"]["successful"] for name in ("time_to_first_token", "inter_token_latency")
    )
    return Figures(
        {"ttft": ttft["mean"], "itl": tpot["mean"], "tpot": tpot["mean"]},
        {"ttft": ttft["percentiles"]["p99"], "itl": None, "tpot": tpot["percentiles"]["p99"]},
        metrics["output_tokens_per_second"]["successful"]["mean"],
        int(metrics["request_totals"]["successful"]),
    )


def _vllm_words(load: Load, scratch: Path) -> list[str]:
    return [
        "-m", "vllm.entrypoints.cli.main", "bench", "serve", "--backend", "openai", "--model", "tiny",
        "--tokenizer", str(MODEL), "--base-url", load.url, "--dataset-name", "random",
        "--random-input-len", str(ISL), "--random-output-len", str(load.osl), "--ignore-eos",
        "--max-concurrency", str(load.concurrency), "--num-prompts", str(load.requests),
        "--num-warmups", str(load.warmup), "--percentile-metrics", "ttft,tpot,itl", "--save-result",
        "--result-dir", str(scratch), "--result-filename", "vllm.json",
    ]  # fmt: skip


def _vllm(scratch: Path) -> Figures:
    result = json.loads((scratch / "vllm.json").read_text())
    return Figures(
        {name: result[f"mean_{name}_ms"] for name in FIGURES},
        {name: result[f"p99_{name}_ms"] for name in FIGURES},
        result["output_throughput"],
        result["completed"],
    )


CLIENTS = (
    Client("servesweep", None, _own_words, _own),
    Client("aiperf", "aiperf==0.13.0", _aiperf_words, _aiperf),
    Client("guidellm", "guidellm==0.8.1", _guidellm_words, _guidellm, OFFLINE),
    Client("vllm", "vllm==0.33.0", _vllm_words, _vllm, OFFLINE),
)
