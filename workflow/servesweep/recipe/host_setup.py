"""`host_setup:` — commands on the bare nodes before workers start and after they stop."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from servesweep.recipe.section import Section, Words


class HostSetupSection(Section):
    """Shell commands, outside any container."""

    commands: Words = Field(
        default=(), description="Run in order, in one shell, on each node before anything starts."
    )
    teardown: Words = Field(
        default=(), description="Run in order on each node after the workers, also of a run that has failed."
    )
    nodes: Literal["all", "workers"] = Field(default="all", description="On which nodes.")
    ignore_failure: bool = Field(default=False, description="Go on where a command fails.")
    timeout_seconds: float = Field(
        default=300,
        gt=0,
        description="How long the commands of a node may take together, and its teardown, seconds.",
    )
