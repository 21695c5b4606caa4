"""`manual`: serve and measure nothing, until somebody stops the run or the time is over."""

from __future__ import annotations

import shlex

from pydantic import Field

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load
from servesweep.benchmarks.custom import Custom, CustomOptions
from servesweep.benchmarks.shared_options import Levels, SharedOptions
from servesweep.recipe.section import Section, said
from servesweep.topology.deployment import Command, ended_file


class ManualOptions(SharedOptions):
    """How long the deployment serves."""

    serve_seconds: float | None = Field(
        default=None, gt=0, description="Seconds after which the run ends well; default: until it is stopped."
    )
    concurrencies: Levels | None = Field(
        default=None, description="Read for compatibility: nothing drives load here."
    )


class Manual(Benchmark):
    """A deployment to play with: one point that only waits."""

    name = "manual"
    client = "none: it only serves"
    Options = ManualOptions
    needs_public = False

    def loads(self, options: Section) -> list[Load]:
        """One point, the time of serving."""
        return [
            Load(
                id="manual",
                facts=options.model_dump(mode="json", include={"serve_seconds"}, exclude_defaults=True),
            )
        ]

    def unread(self, options: Section) -> dict[str, str]:
        """Levels of a load that nothing drives."""
        return super().unread(options) | dict.fromkeys(
            said(options, ("concurrencies",)), "manual drives no load"
        )

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """A custom command that only waits: for the time to be over, or for the terminal services."""
        assert isinstance(options, ManualOptions)
        if context.deployment.terminal:
            waits = f"until [ -e {shlex.quote(ended_file(context.deployment))} ]; do sleep 0.5; done"
            return Custom().command(load, CustomOptions(command=waits), context)
        seconds = "infinity" if options.serve_seconds is None else f"{options.serve_seconds:g}"
        return Custom().command(load, CustomOptions(command=f"exec sleep {seconds}"), context)
