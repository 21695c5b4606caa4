"""What commands read in common, and how a user's mistake ends one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from servesweep.evidence.files import RunFiles

if TYPE_CHECKING:  # a command imports what it needs when it runs
    from servesweep.plan.plan import Plan
    from servesweep.runtime.allocation import Allocation


class CommandFault(click.ClickException):
    """A user's mistake: its sentences, nothing else, and exit code 1."""

    def show(self, file: object = None) -> None:
        """Tell it, without the `Error:` of click."""
        click.echo(self.message, err=True)


def configurations_of(results: Path, sweep: Path | None) -> list[str]:
    """The configurations that a sweep's list names, or all that have a plan.

    Raises:
        CommandFault: for a list that is none.
    """
    from servesweep.evidence.points import read_json

    if sweep is not None:
        listed = read_json(sweep).get("configurations")
        if not isinstance(listed, list):
            raise CommandFault(f"{sweep}: no list of configurations; a run of snakemake writes it")
        return [str(name) for name in listed]
    return sorted(path.parent.name for path in results.glob("*/plan.json"))


def plan_of(directory: Path) -> Plan:
    """The plan of a configuration.

    Raises:
        CommandFault: where there is none that can be read.
    """
    from servesweep.plan.plan import read_plan
    from servesweep.plan.row import PlanError

    try:
        return read_plan(RunFiles(directory).plan)
    except PlanError as error:
        raise CommandFault(str(error)) from None


def running_deployment(files: RunFiles) -> tuple[Plan, Allocation]:
    """What runs now, and on which hosts.

    Raises:
        CommandFault: where nothing runs.
    """
    from pydantic import ValidationError

    from servesweep.plan.plan import read_plan
    from servesweep.plan.row import PlanError
    from servesweep.runtime.allocation import Allocation

    try:
        return read_plan(files.deployment), Allocation.model_validate_json(files.allocation.read_bytes())
    except (PlanError, OSError, ValidationError):
        raise CommandFault(f"{files.root}: nothing runs here; `servesweep run` starts it") from None
