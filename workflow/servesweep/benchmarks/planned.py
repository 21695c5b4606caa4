"""A benchmark type whose language and points are known, and whose client this version does not start."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load
from servesweep.benchmarks.shared_options import SharedOptions
from servesweep.recipe.not_yet import NOT_YET
from servesweep.recipe.section import Environment, Section
from servesweep.recipe.texts import Line
from servesweep.topology.deployment import Command


class AgentPerfOptions(SharedOptions):
    """Agents' conversations from a client of its own."""

    agentperf_client_dir: Line | None = Field(default=None, description="Directory of the client.")
    agentperf_config: Line | None = Field(default=None, description="Its configuration file.")
    concurrency: int | None = Field(default=None, ge=1, description="Conversations in flight.")
    env: Environment = Field(default_factory=dict, description="Environment of the client.")


class AgentPerf(Benchmark):
    """One point, of a client that is not public."""

    client: ClassVar[str] = NOT_YET
    runs: ClassVar[bool] = False
    name: ClassVar[str] = "agentperf"
    Options: ClassVar[type[Section]] = AgentPerfOptions

    def unsupported(self, options: Section) -> list[str]:
        """The whole type."""
        return [f"benchmark.type {self.name}: its client"]

    def named_files(self, options: Section) -> dict[str, str]:
        """The client's configuration."""
        path = getattr(options, "agentperf_config", None)
        return {"agentperf_config": path} if path else {}

    def loads(self, options: Section) -> list[Load]:
        """The point that a client would measure."""
        facts = options.model_dump(mode="json", exclude={"concurrencies"}, exclude_defaults=True)
        return [Load(id=self.name, facts=facts)]

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """There is no client to render.

        Raises:
            ValueError: always; preflight refuses the configuration long before.
        """
        raise ValueError(f"{self.name}: {NOT_YET}")


PLANNED: list[Benchmark] = [AgentPerf()]
