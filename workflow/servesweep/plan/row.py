"""A row of the workflow's table: what its rules ask of one configuration.

A plan is one. A job of Slurm has no more than this file to load, and takes the same of the plan's file: to
build the models of a whole plan takes longer than all else that a job does before it runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol


class PlanError(Exception):
    """A plan file that cannot be used; its text is one sentence."""


class Point(Protocol):
    """One load level: its name, and the identity of its numbers."""

    @property
    def id(self) -> str:
        """Name of the point."""

    @property
    def digest(self) -> str:
        """Identity of the numbers."""


class Row(Protocol):
    """One configuration, as far as the rules know it."""

    @property
    def configuration(self) -> str:
        """Id: unique, file-name safe, stable."""

    @property
    def recipe(self) -> str:
        """The recipe file as it was given."""

    @property
    def digest(self) -> str:
        """Identity of the configuration."""

    @property
    def launcher(self) -> str:
        """How processes are started."""

    @property
    def slurm(self) -> Any:
        """What is asked of Slurm."""

    @property
    def topology(self) -> Any:
        """Its nodes and GPUs."""

    @property
    def points(self) -> Sequence[Point]:
        """Load levels, in order."""


def read_row(path: Path) -> Row:
    """The row of a plan file, which is read as a plan, and checked, by who runs it.

    Raises:
        PlanError: where it is missing, or nothing of the kind.
    """
    try:
        row: Row = json.loads(path.read_bytes(), object_hook=lambda found: SimpleNamespace(**found))
        row.digest, row.slurm, row.topology, row.points  # noqa: B018 - what every row has
    except FileNotFoundError:
        raise no_plan(path) from None
    except (OSError, ValueError, AttributeError) as error:
        raise other_plan(path, error) from None
    return row


def no_plan(path: Path) -> PlanError:
    """For a file that is not there."""
    return PlanError(f"{path}: no such plan; `snakemake plan` writes it")


def other_plan(path: Path, error: Exception) -> PlanError:
    """For a file that holds something else."""
    first = str(error).splitlines()[0]
    return PlanError(f"{path}: not a plan of this version ({first}); delete it and run `snakemake plan`")
