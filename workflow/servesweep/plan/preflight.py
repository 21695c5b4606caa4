"""What is checked on the login node before anything is submitted: does what the recipe names exist?"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from servesweep.benchmarks import BENCHMARKS
from servesweep.plan.asked import asked
from servesweep.plan.containers import setup_script_of
from servesweep.plan.plan import Plan
from servesweep.recipe.not_yet import NOT_YET
from servesweep.recipe.problems import Problem, nearest
from servesweep.recipe.variants import Variant

# Packages that are extras of this project's own.
EXTRAS = {
    "aiperf": "aiperf",
    "dynamo": "dynamo",
    "lm_eval": "lm-eval",
    "sglang_router": "sglang-router",
    "vllm_router": "vllm-router",
}


# Who plans for another machine finds nothing of it here.
ELSEWHERE = (
    "; planning for another machine? `preflight: false` in the cluster file, or --no-preflight, does not look"
)


def preflight(plan: Plan, variant: Variant | None = None, *, look: bool = True) -> list[Problem]:
    """What is missing, and what cannot be run; the lines of the recipe where its variant is at hand.

    Without `look`, as with `preflight: false`, nothing is looked for on this machine.
    """
    found = [*_beyond(plan)]
    if look and plan.cluster.preflight:
        found += [
            *_model(plan),
            *_setup_script(plan),
            *_load_files(plan),
            *_client_packages(plan),
            *_images(plan),
            *_programs(plan),
        ]
    return [
        variant.problem(path, message) if variant else Problem(plan.recipe, None, ".".join(path), message)
        for path, message in found
    ]


Finding = tuple[tuple[str, ...], str]


def _beyond(plan: Plan) -> Iterator[Finding]:
    for feature in plan.unsupported:
        where, _, what = feature.partition(": ")
        key, _, named = where.partition(" ")
        told = f"{named}: {what}" if named else what
        yield tuple(key.split(".")), f"{told}: {NOT_YET}"


def _model(plan: Plan) -> Iterator[Finding]:
    named = plan.resolved.model.path
    if (
        not plan.deployment.processes
        or named.startswith("hf:")
        or Path(plan.deployment.model_source or plan.deployment.model_path).is_dir()
    ):
        return
    path = ("model", "path")
    if (directory := plan.cluster.model_paths.get(named)) is not None:
        yield path, f"{named!r} is {directory} in the cluster file, and there is no such directory{ELSEWHERE}"
        return
    known = ", ".join(sorted(plan.cluster.model_paths)) or "none"
    # Without a file every value is the default's.
    guess = nearest(named, plan.cluster.model_paths)
    meant = f"did you mean {guess}? " if guess else ""
    alias = f"no alias of the cluster file ({meant}there are: {known})"
    if not plan.cluster.model_fields_set:
        alias = "without a cluster file (--cluster) there are no aliases"
    yield path, f"{named!r} is no directory, and {alias}{ELSEWHERE}"


def _setup_script(plan: Plan) -> Iterator[Finding]:
    script = setup_script_of(plan.resolved)
    if script is not None and not Path(script).is_file():
        yield ("setup_script",), f"there is no such file: {script}{ELSEWHERE}"


def _load_files(plan: Plan) -> Iterator[Finding]:
    """Prompts, traces and tokenizers that the benchmark reads."""
    section = plan.resolved.benchmark
    for key, path in BENCHMARKS[section.type].named_files(asked(section).options).items():
        if not Path(path).is_file():
            yield ("benchmark", key), f"there is no such file: {path}"


def _client_packages(plan: Plan) -> Iterator[Finding]:
    """The client runs in this environment, wherever it runs."""
    section = plan.resolved.benchmark
    for key, name in BENCHMARKS[section.type].packages(asked(section).options).items():
        if not _is_package(name):
            yield ("benchmark", key), f"the Python package {name!r} is not installed{_extra(name)}"


def _images(plan: Plan) -> Iterator[Finding]:
    """An image is a file where it is written as a path, else a name in a registry."""
    own = plan.resolved.model.container or ""
    engines = [step for step in plan.steps if step.kind != "service"]
    if plan.cluster.container_runtime == "pyxis" and any(step.image is None for step in engines):
        yield ("model", "container"), "no image is named, and the cluster runs its processes in containers"
    for image in dict.fromkeys(step.image for step in plan.steps if step.image):
        if image.startswith(("/", "./", "../")) and not Path(image).is_file():
            is_own = image == plan.cluster.containers.get(own, own)
            told = f"there is no such image file: {image}{ELSEWHERE}"
            yield ("model", "container") if is_own else (), told


def _programs(plan: Plan) -> Iterator[Finding]:
    """On this machine a program that is not installed would only be noticed when it is started."""
    if plan.launcher != "local":
        return
    # Exporters that a recipe only implies cost their numbers, and not the run.
    implied = {service.name for service in plan.services if service.implied}
    commands = [s.command.argv for s in plan.steps if s.critical or s.service not in implied]
    for name in sorted({argv[0] for argv in commands if not _is_program(argv[0])}):
        yield (), f"program {name!r} is not installed on this machine"
    modules = {argv[2].partition(".")[0] for argv in commands if argv[:2] == ("python3", "-m")}
    for name in sorted(modules):
        if not _is_package(name):
            yield (), f"the Python package {name!r} is not installed on this machine{_extra(name)}"


# Thousands of configurations of one sweep ask for the same few.
@cache
def _is_program(name: str) -> bool:
    return shutil.which(name) is not None


@cache
def _is_package(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _extra(module: str) -> str:
    extra = EXTRAS.get(module)
    return f": uv pip install -c pins.txt -e '.[{extra}]'" if extra else ""
