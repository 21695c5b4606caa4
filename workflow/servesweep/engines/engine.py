"""What an engine is: pure functions from a placed process to a command line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from servesweep.engines.flags import owned
from servesweep.recipe.problems import listed
from servesweep.recipe.section import Section
from servesweep.topology.deployment import Command, Deployment, Probe, Transport
from servesweep.topology.shapes import ProcessPlace

# Ready means that the worker's `generate` endpoint answers, not that the process is up:
# https://github.com/ai-dynamo/dynamo, docs on health checks.
DYNAMO_HEALTH = {"DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]'}


class NoOptions(Section):
    """For engines without engine-wide options."""


class Engine(ABC):
    """One inference engine."""

    name: ClassVar[str]
    Options: ClassVar[type[Section]] = NoOptions
    transports: ClassVar[frozenset[Transport]]
    reserved: ClassVar[frozenset[str]] = frozenset()
    rank_flags: ClassVar[frozenset[str]] = frozenset()
    spans_nodes: ClassVar[bool] = False
    pins_devices: ClassVar[bool] = False

    @abstractmethod
    def command(
        self, process: ProcessPlace, args: Mapping[str, Any], options: Section, deployment: Deployment
    ) -> Command:
        """Render the command of one process of a worker."""

    def replica(
        self, process: ProcessPlace, args: tuple[str, ...], options: Section, deployment: Deployment
    ) -> Command:
        """Render one rank of a replica, whose arguments are the user's own, free-form.

        Raises:
            ValueError: where the engine has no HTTP endpoint of its own.
        """
        raise ValueError(f"{self.name} has no HTTP endpoint of its own, so it cannot be a replica")

    def replica_name(self, name: str) -> tuple[str, ...]:
        """The words that give a replica its served name, where the user's arguments do not."""
        return ("--served-model-name", name)

    def replica_notes(self, args: tuple[str, ...]) -> list[str]:
        """What a reader should know about a replica started with these arguments."""
        return []

    def replica_refusals(self, args: tuple[str, ...], nodes_per_replica: int) -> list[tuple[str, str]]:
        """Faults of a replica's free-form arguments as (top-level key, sentence)."""
        given = {word.partition("=")[0].removeprefix("--") for word in args if word.startswith("--")}
        if "port" in given:
            return [
                ("framework_args", "every replica serves on port 8080, which servesweep sets: remove --port")
            ]
        if nodes_per_replica > 1 and (ranks := owned(sorted(given), self.rank_flags)):
            told = listed([f"--{name}" for name in ranks])
            return [("framework_args", f"servesweep sets the ranks of a replica itself: remove {told}")]
        if nodes_per_replica > 1 and not self.spans_nodes:
            return [("nodes_per_replica", f"a replica of the engine {self.name} runs on one node")]
        return []

    def served_model(self, args: Mapping[str, Any]) -> str | None:
        """The served name that the arguments give, if they do."""
        name = args.get("served-model-name", args.get("served_model_name"))
        return str(name) if name is not None else None

    def refusals(self, mode: str, args: Mapping[str, Any], options: Section) -> list[tuple[str, str]]:
        """Faults of a role's arguments as (key below the role, sentence)."""
        return [
            (f"args.{key}", "servesweep sets this argument itself from the topology: remove it")
            for key in owned(args, self.reserved)
        ]

    def probe(self, process: ProcessPlace, options: Section, deployment: Deployment) -> Probe | None:
        """How the readiness of a worker is asked; None for ranks without an endpoint of their own."""
        if not process.is_leader:
            # Under Dynamo too: only the leader registers `generate`, so the others never become ready.
            return None
        if deployment.transport == "dynamo":
            return Probe(kind="http", port=process.system_port)
        return Probe(kind="http", port=process.http_port) if process.http_port else None


def dynamo_environment(process: ProcessPlace, deployment: Deployment) -> dict[str, str]:
    """Environment by which a worker finds the discovery plane and offers its own health endpoint."""
    return {**deployment.discovery, "DYN_SYSTEM_PORT": str(process.system_port), **DYNAMO_HEALTH}
