"""The secrets of a run: where its processes get them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from servesweep.evidence.files import RunFiles
from servesweep.evidence.points import read_json
from servesweep.plan.plan import Plan
from servesweep.plan.render import rebind
from servesweep.plan.secrets import has_secrets, with_secrets
from servesweep.runtime.shield import HANDED


class MissingSecretError(Exception):
    """A secret that neither a file nor the environment holds; its text is one sentence."""


def opened(files: RunFiles, plan: Plan, project: Path) -> tuple[Plan, tuple[str, ...]]:
    """A bound plan with its secrets, never to be written, and their values.

    Raises:
        MissingSecretError: where one has no value.
    """
    if not has_secrets(plan):
        return plan, ()
    told = read_json(files.sources)
    recipe, cluster = told.get("recipe") or plan.recipe, told.get("cluster")
    found = with_secrets(plan, str(project / recipe), str(project / cluster) if cluster else None, os.environ)
    if found.missing:
        raise MissingSecretError("; ".join(found.missing))
    bound = rebind(found.plan, plan.deployment.binding)
    # What is measured keeps its identity, which no secret is part of.
    return replace(bound, points=plan.points, served_model=plan.served_model), found.values


def handed() -> tuple[str, ...]:
    """The values that the run has given to this process."""
    return tuple(value for name, value in os.environ.items() if name.startswith(HANDED))


def hand_over(values: Iterable[str]) -> None:
    """Give the values to the processes that are started from here on."""
    for number, value in enumerate(values):
        os.environ[f"{HANDED}{number}"] = value
