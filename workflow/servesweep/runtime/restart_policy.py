"""What follows from the exit of a worker whose role may be started again. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from servesweep.recipe.restart import RestartSection


@dataclass(frozen=True)
class Relaunch:
    """The worker is started again."""

    attempt: int
    """Which relaunch of this worker, from 1."""
    delay_seconds: float
    """Seconds between the exit and the start."""


@dataclass(frozen=True)
class Released:
    """The exit is left to the ordinary monitor: `critical` decides."""

    exhausted: bool
    """Whether the relaunches are spent; else the policy does not ask for one."""


def decide(policy: RestartSection, relaunched: int, code: int) -> Relaunch | Released:
    """Judge an exit with a code, after so many relaunches of this worker."""
    if policy.policy == "never" or (policy.policy == "on-failure" and code == 0):
        return Released(exhausted=False)
    if relaunched >= policy.max_restarts:
        return Released(exhausted=True)
    return Relaunch(relaunched + 1, policy.delay(relaunched + 1))


def life_name(mode: str | None, index: int, name: str, host: str, attempt: int, twin: bool) -> str:
    """Name of a relaunched process: `<mode>_<index>_<node>_r<n>`.

    A `twin`, a further process of the worker on the same node, has its own name in it.
    """
    worker = name if twin else f"{mode}_{index}"
    return f"{worker}_{host}_r{attempt}"
