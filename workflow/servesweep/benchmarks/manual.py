"""`manual`: serve and measure nothing, until somebody stops the run or the time is over."""

from __future__ import annotations

from pydantic import Field

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load
from servesweep.benchmarks.custom import Custom, CustomOptions
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command


class ManualOptions(Section):
    """How long the deployment serves."""

    serve_seconds: float | None = Field(
        default=None, gt=0, description="Seconds after which the run ends well; default: until it is stopped."
    )


class Manual(Benchmark):
    """A deployment to play with: one point that only waits."""

    name = "manual"
    Options = ManualOptions
    needs_public = False

    def loads(self, options: Section) -> list[Load]:
        """One point, the time of serving."""
        return [Load(id="manual", facts=options.model_dump(mode="json"))]

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """A custom command that only waits."""
        assert isinstance(options, ManualOptions)
        seconds = "infinity" if options.serve_seconds is None else f"{options.serve_seconds:g}"
        return Custom().command(load, CustomOptions(command=f"exec sleep {seconds}"), context)
