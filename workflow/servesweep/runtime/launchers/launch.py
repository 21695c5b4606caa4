"""One start of a command: where, how often, with what around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from servesweep.plan.plan import Step

NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True)
class Launch:
    """A command to start on nodes of an allocation.

    `nodes` are symbolic, in the order of ranks; `tasks` processes are started over them,
    `shares` on each of several. `preamble` is shell
    text that runs before the command in its own process. Without an `image` the command runs bare. Output
    goes to `log`; None: it is inherited. What a `whole` command has started ends with it.
    """

    name: str
    nodes: tuple[str, ...]
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    options: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    log: Path | None = None
    tasks: int = 1
    shares: tuple[int, ...] = ()
    image: str | None = None
    mounts: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    preamble: str | None = None
    whole: bool = False

    @property
    def words(self) -> list[str]:
        """The command with its variables and what runs before it; its arguments pass no shell's hands."""
        words = ["env", *(f"{key}={value}" for key, value in self.env.items())]
        if self.preamble is not None:
            words += ["bash", "-c", f'{self.preamble}\nexec "$@"', self.name]
        return [*words, *self.argv]


def launch_of(step: Step, log: Path | None) -> Launch:
    """The launch of a step of the plan."""
    return Launch(
        name=step.name,
        nodes=step.nodes or (step.node,),
        argv=step.command.argv,
        env=step.command.env,
        options=step.srun_options,
        log=log,
        tasks=step.tasks,
        shares=step.shares,
        image=step.image,
        mounts=step.mounts,
        preamble=step.preamble,
        whole=True,
    )
