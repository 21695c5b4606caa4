"""Benchmark types whose language and points are known, and whose clients this version does not start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load
from servesweep.benchmarks.shared_options import Levels, Rates, SharedOptions
from servesweep.recipe.section import Environment, Section
from servesweep.recipe.texts import Line
from servesweep.topology.deployment import Command


class PlannedOnly(Benchmark):
    """One point a concurrency where the options have some, else one point of the type's name."""

    def unsupported(self, options: Section) -> list[str]:
        """The whole type."""
        return [f"benchmark.type {self.name}: its client"]

    def named_files(self, options: Section) -> dict[str, str]:
        """The trace, or the client's configuration."""
        found = {key: getattr(options, key, None) for key in ("trace_file", "agentperf_config")}
        return {key: path for key, path in found.items() if path}

    def loads(self, options: Section) -> list[Load]:
        """The points that a client would measure."""
        facts = options.model_dump(mode="json", exclude={"concurrencies"}, exclude_defaults=True)
        levels = getattr(options, "concurrencies", None)
        if not levels:
            return [Load(id=self.name, facts=facts)]
        return [Load(id=f"c{level}", concurrency=level, facts=facts) for level in levels]

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """There is no client to render.

        Raises:
            ValueError: always; preflight refuses the configuration long before.
        """
        raise ValueError(f"{self.name} is planned but cannot be run by this version")


class AccuracyOptions(SharedOptions):
    """How many questions are asked, and how."""

    num_examples: int | None = Field(default=None, ge=1, description="Questions; default: the type's own.")
    max_tokens: int | None = Field(default=None, ge=1, description="Longest answer, tokens.")
    num_threads: int | None = Field(default=None, ge=1, description="Questions in flight.")
    repeat: int | None = Field(default=None, ge=1, description="How many times the set is asked.")


class Gsm8kOptions(AccuracyOptions):
    """Sampling and examples in the prompt too."""

    num_shots: int | None = Field(default=None, ge=0, description="Examples in each prompt.")
    temperature: float | None = Field(default=None, ge=0, description="Sampling temperature.")
    top_p: float | None = Field(default=None, gt=0, le=1, description="Nucleus sampling.")
    top_k: int | None = Field(default=None, description="Sampling among the k likeliest tokens.")


class LongBenchOptions(SharedOptions):
    """Questions over long texts."""

    max_context_length: int = Field(default=128000, ge=1, description="Longest text, tokens.")
    num_threads: int = Field(default=16, ge=1, description="Questions in flight.")
    max_tokens: int = Field(default=16384, ge=1, description="Longest answer, tokens.")
    num_examples: int | None = Field(default=None, ge=1, description="Questions; default: all.")
    categories: tuple[str, ...] = Field(default=(), strict=False, description="Kinds of questions.")


class TraceReplayOptions(SharedOptions):
    """A trace of requests, replayed at each concurrency."""

    trace_file: Line = Field(description="File of the trace, in the format of mooncake.")
    concurrencies: Levels = Field(description="Requests in flight: one number, a list, or text like 1x2x4.")
    ttft_threshold_ms: int = Field(default=2000, ge=1, description="Longest TTFT of goodput, ms.")
    itl_threshold_ms: int = Field(default=25, ge=1, description="Longest ITL of goodput, ms.")
    custom_tokenizer: Line | None = Field(
        default=None, description="Tokenizer, where the model's is not the one."
    )


class MooncakeRouterOptions(SharedOptions):
    """A public workload with shared prefixes."""

    mooncake_workload: Literal["mooncake", "conversation", "synthetic", "toolagent"] = Field(
        default="conversation", description="Which of the public traces."
    )
    ttft_threshold_ms: int = Field(default=2000, ge=1, description="Longest TTFT of goodput, ms.")
    itl_threshold_ms: int = Field(default=25, ge=1, description="Longest ITL of goodput, ms.")


class RouterOptions(SharedOptions):
    """Prompts that share prefixes, to see a router's cache."""

    isl: int = Field(default=14000, ge=1, description="Input sequence length, tokens.")
    osl: int = Field(default=200, ge=1, description="Output sequence length, tokens.")
    num_requests: int = Field(default=200, ge=1, description="Requests of each ratio.")
    concurrency: int = Field(default=20, ge=1, description="Requests in flight.")
    prefix_ratios: str = Field(
        default="0.1 0.3 0.5 0.7 0.9", description="Shares of the prompt that are common, one point each."
    )


class SglangBenchOptions(SharedOptions):
    """Random prompts from SGLang's own client."""

    isl: int = Field(ge=1, description="Input sequence length, tokens.")
    osl: int = Field(ge=1, description="Output sequence length, tokens.")
    concurrencies: Levels = Field(description="Requests in flight: one number, a list, or text like 1x2x4.")
    req_rate: Rates = Field(default=[float("inf")], description="Requests per second, or inf.")


class AgentPerfOptions(SharedOptions):
    """Agents' conversations from a client of its own."""

    agentperf_client_dir: Line | None = Field(default=None, description="Directory of the client.")
    agentperf_config: Line | None = Field(default=None, description="Its configuration file.")
    concurrency: int | None = Field(default=None, ge=1, description="Conversations in flight.")
    env: Environment = Field(default_factory=dict, description="Environment of the client.")


OPTIONS: Mapping[str, type[SharedOptions]] = {
    "gsm8k": Gsm8kOptions,
    "gpqa": AccuracyOptions,
    "mmlu": AccuracyOptions,
    "longbenchv2": LongBenchOptions,
    "lm-eval": SharedOptions,
    "trace-replay": TraceReplayOptions,
    "mooncake-router": MooncakeRouterOptions,
    "router": RouterOptions,
    "sglang-bench": SglangBenchOptions,
    "agentperf": AgentPerfOptions,
}


def _type(kind: str, options: type[SharedOptions]) -> Benchmark:
    class OfThisType(PlannedOnly):
        name: ClassVar[str] = kind
        Options: ClassVar[type[Section]] = options

    return OfThisType()


PLANNED: list[Benchmark] = [_type(kind, options) for kind, options in OPTIONS.items()]
