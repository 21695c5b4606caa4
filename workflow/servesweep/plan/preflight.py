"""What is checked on the login node before anything is submitted: does what the recipe names exist?"""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

from servesweep.plan.plan import Plan

# Packages that are extras of this project's own.
EXTRAS = {"dynamo": "dynamo", "sglang_router": "sglang-router", "vllm_router": "vllm-router"}


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
    commands = [step.command.argv for step in plan.steps]
    missing = sorted({argv[0] for argv in commands if not shutil.which(argv[0])})
    modules = sorted({argv[2].partition(".")[0] for argv in commands if argv[:2] == ("python3", "-m")})
    return [f"program {name!r} is not installed on this machine" for name in missing] + [
        f"the Python package {name!r} is not installed on this machine{_extra(name)}"
        for name in modules
        if importlib.util.find_spec(name) is None
    ]


def _extra(module: str) -> str:
    extra = EXTRAS.get(module)
    return f": uv pip install -c pins.txt -e '.[{extra}]'" if extra else ""
