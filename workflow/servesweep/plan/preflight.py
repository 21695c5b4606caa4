"""What is checked on the login node before anything is submitted: does what the recipe names exist?"""

from __future__ import annotations

import shutil
from pathlib import Path

from servesweep.plan.plan import Plan


def preflight(plan: Plan) -> list[str]:
    """Sentences about what is missing, and what cannot be run; none when all is well."""
    beyond = [f"{feature} is planned but cannot be run by this version" for feature in plan.unsupported]
    if not plan.cluster.preflight:
        return beyond
    return [*beyond, *_model(plan), *_programs(plan)]


def _model(plan: Plan) -> list[str]:
    named = plan.resolved.model.path
    if named.startswith("hf:") or Path(plan.deployment.model_path).is_dir():
        return []
    if (directory := plan.cluster.model_paths.get(named)) is not None:
        return [f"model.path {named!r} is {directory} in the cluster file, and there is no such directory"]
    known = ", ".join(sorted(plan.cluster.model_paths)) or "none"
    return [f"model.path {named!r} is no directory, and no alias of the cluster file (there are: {known})"]


def _programs(plan: Plan) -> list[str]:
    """On this machine a program that is not installed would only be noticed when it is started."""
    if plan.launcher != "local":
        return []
    programs = {step.command.argv[0] for step in plan.steps}
    return [
        f"program {name!r} is not installed on this machine"
        for name in sorted(programs)
        if not shutil.which(name)
    ]
