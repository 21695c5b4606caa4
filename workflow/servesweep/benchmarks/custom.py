"""`custom`: the user's own command, as one point."""

from __future__ import annotations

import json

from pydantic import Field

from servesweep.benchmarks.benchmark import Benchmark, BenchmarkContext, Load, frontend_environment
from servesweep.benchmarks.shared_options import SharedOptions
from servesweep.recipe.not_yet import NotYet
from servesweep.recipe.section import Environment, Section
from servesweep.recipe.texts import Line, Text
from servesweep.topology.deployment import Command


class CustomOptions(SharedOptions):
    """What is run, and with which further environment."""

    command: Text = Field(
        min_length=1, description="Shell text, run by bash; ends with 0 when the point is valid."
    )
    env: Environment = Field(default_factory=dict, description="Environment of the command alone.")
    container_image: Line | None = Field(
        default=None,
        description="Image of the command; unused when container_runtime is none.",
        json_schema_extra=NotYet("a client in a container"),
    )


class Custom(Benchmark):
    """The command finds the deployment by SRT_FRONTEND_HOST and SRT_FRONTEND_PORT."""

    name = "custom"
    client = "your command"
    Options = CustomOptions
    needs_public = False

    def loads(self, options: Section) -> list[Load]:
        """One point."""
        return [Load(id="custom", facts=options.model_dump(mode="json", exclude_defaults=True))]

    def command(self, load: Load, options: Section, context: BenchmarkContext) -> Command:
        """Wrap the command so that its end becomes a result."""
        assert isinstance(options, CustomOptions)
        file = f"{context.directory}/custom.json"
        about = {
            "configuration": context.configuration,
            "point": load.id,
            "digest": context.digest,
            "model": context.deployment.served_model,
            "command": options.command,
        }
        argv = ("python3", "-m", "servesweep.loadgen.custom", file, "--output", context.output)
        return Command(
            argv=argv,
            env={**frontend_environment(context), **options.env},
            files={file: json.dumps(about, indent=1)},
        )
