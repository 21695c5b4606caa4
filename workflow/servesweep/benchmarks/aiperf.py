"""`trace-replay` and `mooncake-router`: recorded traffic, replayed by NVIDIA's aiperf (an extra)."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Literal

from pydantic import Field

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load, frontend_environment
from servesweep.benchmarks.client_load import gpu_counts
from servesweep.benchmarks.client_options import GateOptions
from servesweep.benchmarks.shared_options import Levels
from servesweep.recipe.limits import LARGEST_SEED
from servesweep.recipe.not_yet import NotYet, left_out
from servesweep.recipe.section import Section, said
from servesweep.recipe.texts import Line
from servesweep.topology.deployment import Command

REFERENCE_SEED = 42


class TraceOptions(GateOptions):
    """What both types of replayed traffic take."""

    ttft_threshold_ms: int = Field(default=2000, ge=1, description="Longest TTFT of goodput, ms.")
    itl_threshold_ms: int = Field(default=25, ge=1, description="Longest ITL of goodput, ms.")
    custom_tokenizer: Line | None = Field(
        default=None, description="Tokenizer, where the model's is not the one."
    )
    seed: int = Field(
        default=REFERENCE_SEED,
        ge=0,
        le=LARGEST_SEED,
        description="Seed of the texts that the trace's blocks become; mixed with the point.",
    )


class TraceReplayOptions(TraceOptions):
    """A trace of requests, replayed at each concurrency."""

    trace_file: Line = Field(description="File of the trace, in the format of mooncake.")
    concurrencies: Levels = Field(description="Requests in flight: one number, a list, or text like 1x2x4.")


class MooncakeRouterOptions(TraceOptions):
    """A public workload with shared prefixes, at the times of its trace."""

    mooncake_workload: Literal["mooncake", "conversation", "synthetic", "toolagent"] = Field(
        default="conversation",
        description="Which of the public traces.",
        json_schema_extra=NotYet("downloading a trace, where trace_file names no file"),
    )
    trace_file: Line | None = Field(
        default=None, description="File of that trace, which is not downloaded: required for a run."
    )


class Replay(Benchmark):
    """One point each, measured by aiperf."""

    client: ClassVar[str] = "aiperf (the extra `aiperf`)"

    def packages(self, options: Section) -> dict[str, str]:
        """aiperf itself."""
        return {"type": "aiperf"}

    def named_files(self, options: Section) -> dict[str, str]:
        """The trace."""
        trace = getattr(options, "trace_file", None)
        return {"trace_file": trace} if trace else {}

    def unread(self, options: Section) -> dict[str, str]:
        """A version of aiperf, which is not installed anew, and a wish that is always fulfilled."""
        told = "the environment's own aiperf runs" if said(options, ("aiperf_package",)) else ""
        found = {"aiperf_package": told} if told else {}
        return found | dict.fromkeys(said(options, ("stream_output",)), "the client's output always is shown")

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """Write what aiperf is to do as a file and call it on that."""
        assert isinstance(options, TraceOptions)
        file = f"{context.directory}/aiperf.json"
        about: dict[str, Any] = {
            "configuration": context.configuration,
            "point": load.id,
            "digest": context.digest,
            "model": context.deployment.served_model,
            "url": context.url,
            "tokenizer": options.custom_tokenizer or context.tokenizer,
            "concurrency": load.concurrency,
            "trace_file": getattr(options, "trace_file", None),
            **options.model_dump(
                include={
                    "ttft_threshold_ms", "itl_threshold_ms", "seed", "slo", "max_failed_fraction",
                    "min_duration_s", "aiperf_args",
                }
            ),
            **gpu_counts(context),
        }  # fmt: skip
        argv = ("python3", "-m", "servesweep.loadgen.aiperf", file, "--output", context.output)
        env = frontend_environment(context)
        return Command(argv=argv, env=env, files={file: json.dumps(about, indent=1)})


def _facts(options: Section, *levels: str) -> dict[str, Any]:
    return options.model_dump(
        mode="json", exclude={"aiperf_package", "stream_output", *levels}, exclude_defaults=True
    )


class TraceReplay(Replay):
    """Recorded requests as fast as each concurrency lets them go."""

    name: ClassVar[str] = "trace-replay"
    Options: ClassVar[type[Section]] = TraceReplayOptions

    def loads(self, options: Section) -> list[Load]:
        """One point for each concurrency."""
        assert isinstance(options, TraceReplayOptions)
        facts = _facts(options, "concurrencies")
        return [Load(id=f"c{level}", concurrency=level, facts=facts) for level in options.concurrencies]


class MooncakeRouter(Replay):
    """Recorded requests at the times at which they came."""

    name: ClassVar[str] = "mooncake-router"
    Options: ClassVar[type[Section]] = MooncakeRouterOptions

    def loads(self, options: Section) -> list[Load]:
        """One point: the trace as it is."""
        return [Load(id=self.name, facts=_facts(options))]

    def unsupported(self, options: Section) -> list[str]:
        """A trace that would have to be downloaded."""
        assert isinstance(options, MooncakeRouterOptions)
        if options.trace_file is not None:
            return []
        return [f"benchmark.mooncake_workload: {left_out(MooncakeRouterOptions, 'mooncake_workload')}"]
