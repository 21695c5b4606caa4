"""Benchmark types, one file each; adding one is a file and a line here."""

from __future__ import annotations

from servesweep.benchmarks.accuracy import EVALUATIONS
from servesweep.benchmarks.aiperf import MooncakeRouter, TraceReplay
from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load
from servesweep.benchmarks.custom import Custom
from servesweep.benchmarks.manual import Manual
from servesweep.benchmarks.planned import PLANNED
from servesweep.benchmarks.router import Router
from servesweep.benchmarks.sa_bench import SaBench
from servesweep.benchmarks.sglang_bench import SglangBench

__all__ = ["BENCHMARKS", "Benchmark", "BenchmarkContext", "Load"]

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        SaBench(),
        SglangBench(),
        Router(),
        TraceReplay(),
        MooncakeRouter(),
        *EVALUATIONS,
        Custom(),
        Manual(),
        *PLANNED,
    )
}
