"""What a frontend is: where the public API lies, what serves it, how many workers it knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from servesweep.engines.argument_faults import argument_faults
from servesweep.engines.flags import kebab, text
from servesweep.engines.vocabulary import NO_WORDS, Vocabulary
from servesweep.recipe.frontend import FrontendSection
from servesweep.recipe.problems import listed
from servesweep.topology.deployment import Census, Command, Deployment, Endpoint, Probe, Transport
from servesweep.topology.ports import WORKER_HTTP, PortBlock
from servesweep.topology.shapes import Mode


class Frontend(ABC):
    """One kind of frontend.

    `reserved` names the arguments that the topology decides, `vocabulary` what else must be known of its
    flags. `scales`: several of them may stand behind nginx. `needs_workers`: it is started once every worker
    is ready, because it does not wait for them itself.
    """

    name: ClassVar[str]
    transport: ClassVar[Transport]
    reserved: ClassVar[frozenset[str]] = frozenset()
    vocabulary: ClassVar[Vocabulary] = NO_WORDS
    required_engines: ClassVar[frozenset[str] | None] = None
    census_path: ClassVar[str | None] = None
    scales: ClassVar[bool] = False
    needs_workers: ClassVar[bool] = False
    starts: ClassVar[bool] = True

    @abstractmethod
    def command(self, deployment: Deployment, section: FrontendSection, port: int) -> Command | None:
        """Render the frontend's process, which listens on `port`; None where there is none."""

    def worker_ports(self, modes: frozenset[Mode]) -> PortBlock:
        """The ports of the workers' HTTP endpoints."""
        return WORKER_HTTP

    def public(self, deployment: Deployment) -> Endpoint | None:
        """Where clients send their requests; None where nothing is public."""
        return Endpoint(node=deployment.frontend, port=deployment.public_port)

    def probe(self, port: int) -> Probe:
        """How the readiness of the frontend's process is asked."""
        return Probe(kind="http", port=port)

    def expected(self, deployment: Deployment) -> Census:
        """The workers that it must know before anything is measured: one for each endpoint it is given."""
        prefill, rest = deployment.serving("prefill"), deployment.serving("decode", "agg")
        return Census(prefill=len(prefill), decode=len(rest))

    def census(self, body: Any) -> Census:
        """Read from the answer of `census_path` how many workers the frontend knows."""
        raise ValueError(f"{self.name} keeps no census")

    def remembers_prompts(self, args: Mapping[str, Any]) -> bool:
        """Whether it sends a request to where it has sent such a prompt before, by its own memory alone."""
        return False

    def section_refusals(self, section: FrontendSection) -> list[tuple[str, str]]:
        """Faults of the section beside its arguments, as (key below `frontend`, sentence)."""
        return []

    def refusals(
        self, workers: Mapping[Mode, int], engines: Mapping[Mode, str], args: Mapping[str, Any]
    ) -> list[tuple[str, str]]:
        """Faults as (key below `frontend`, sentence); `workers` and `engines` are by mode."""
        faults = argument_faults(args, self.reserved, self.vocabulary)
        if self.required_engines is not None:
            faults += [
                (
                    "type",
                    f"{self.name} serves the engines {listed(sorted(self.required_engines))},"
                    f" and roles.{mode} has {engine}",
                )
                for mode, engine in engines.items()
                if engine not in self.required_engines
            ]
        return faults


def frontend_flags(args: Mapping[str, Any], spell: Callable[[str], str] = kebab) -> list[str]:
    """Render its arguments in the order written; true is a bare flag, false and null are left out."""
    words: list[str] = []
    for name, value in args.items():
        if value is None or value is False:
            continue
        words.append(f"--{spell(name)}")
        if value is not True:
            words += [text(item) for item in (value if isinstance(value, list) else [value])]
    return words
