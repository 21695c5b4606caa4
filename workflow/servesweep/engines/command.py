"""`command`: any OpenAI-compatible server, by its command line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import Field, field_validator

from servesweep.engines.engine import Engine, WorkerSpec
from servesweep.engines.flags import flags
from servesweep.recipe.problems import nearest
from servesweep.recipe.section import Section
from servesweep.recipe.texts import Text
from servesweep.topology.deployment import Command, Deployment, Probe
from servesweep.topology.shapes import ProcessPlace

PLACEHOLDERS = ("{port}", "{host}", "{model}", "{gpus}", "{name}", "{mode}", "{bootstrap_port}")


class CommandOptions(Section):
    """The server's command line and where it tells its health."""

    argv: tuple[Text, ...] = Field(
        strict=False,
        min_length=1,
        description="Program and arguments; {port} {host} {model} {gpus} {name} {mode} {bootstrap_port}.",
    )
    health: str = Field(default="/health", description="Path that answers 200 when the server is ready.")

    @field_validator("argv")
    @classmethod
    def _listens_where_told(cls, argv: tuple[str, ...]) -> tuple[str, ...]:
        if not any("{port}" in word for word in argv):
            raise ValueError("{port} is not used: the server would not listen where it is looked for")
        if not argv[0].strip():
            raise ValueError("the program has no name: the first word is empty")
        for braced in re.findall(r"\{[a-z_]+\}", " ".join(argv)):
            if braced not in PLACEHOLDERS and (guess := nearest(braced, PLACEHOLDERS)):
                raise ValueError(f"unknown placeholder {braced}; did you mean {guess}?")
        return argv

    @field_validator("health")
    @classmethod
    def _is_a_path(cls, health: str) -> str:
        if not re.fullmatch("/[!-~]*", health):
            raise ValueError(f"expected a path such as /health, got {health!r}")
        return health


class CommandEngine(Engine):
    """One process a worker; the role's args are appended as flags."""

    name = "command"
    Options = CommandOptions
    transports = frozenset({"http"})

    def command(self, process: ProcessPlace, worker: WorkerSpec, deployment: Deployment) -> Command:
        """Fill in the placeholders of the command line."""
        options = worker.options
        assert isinstance(options, CommandOptions)
        values = {
            "{port}": str(process.http_port),
            "{host}": "0.0.0.0",
            "{model}": deployment.model,
            "{gpus}": ",".join(map(str, process.gpus)),
            "{name}": deployment.served_model,
            "{mode}": process.mode,
            "{bootstrap_port}": str(process.bootstrap_port or ""),
        }
        return Command(argv=tuple(_filled(word, values) for word in options.argv) + tuple(flags(worker.args)))

    def replica(
        self, process: ProcessPlace, args: tuple[str, ...], options: Section, deployment: Deployment
    ) -> Command:
        """Fill in the command line and append the user's own arguments."""
        command = self.command(process, WorkerSpec(options=options), deployment)
        return Command(argv=command.argv + args)

    def replica_words(self, args: tuple[str, ...], deployment: Deployment) -> tuple[str, ...]:
        """Nothing: the command line takes the model and its name by {model} and {name}, if at all."""
        return ()

    def probe(self, process: ProcessPlace, options: Section, deployment: Deployment) -> Probe | None:
        """The path that the recipe names."""
        assert isinstance(options, CommandOptions)
        if process.http_port is None:
            return None
        return Probe(kind="http", port=process.http_port, path=options.health)


def _filled(word: str, values: Mapping[str, str]) -> str:
    for placeholder, value in values.items():
        word = word.replace(placeholder, value)
    return word
