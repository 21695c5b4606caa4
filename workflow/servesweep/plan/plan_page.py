"""`servesweep plan`: a configuration's plan as a person reads it, to the last argument."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from servesweep.plan.judging import gpu_hours
from servesweep.plan.node_map import describe
from servesweep.plan.plan import Plan, Step
from servesweep.plan.plan_object import ports
from servesweep.plan.slurm_request import sbatch_words
from servesweep.topology.deployment import step_name


def plan_page(plan: Plan, refused: Sequence[str] = ()) -> str:
    """Node map, request, environment by scope, and every process with its ports and command line."""
    lines = [describe(plan, refused)]
    lines.append(f"  layout  {_properties(plan)}")
    if plan.launcher == "slurm":
        lines.append(f"  sbatch  {' '.join(sbatch_words(plan.slurm))}")
        lines.append(f"  asked   at most {gpu_hours(plan):g} GPU-hours")
    for scope, env in _scopes(plan):
        lines += [f"  env     {scope}: {_variables(env)}"] if env else []
    shown: set[tuple[str, str]] = set()
    for step in plan.steps:
        lines += [*_step(plan, step), *_files(step, shown)]
    return "\n".join(lines)


def summary_line(plans: Sequence[Plan]) -> str:
    """What all plans together ask for."""
    total = sum(map(gpu_hours, plans))
    points = sum(len(plan.points) for plan in plans)
    told = f"{_count(len(plans), 'configuration')}, {_count(points, 'point')}"
    if not total:
        return told
    sizes = sorted({len(plan.nodes) for plan in plans if plan.launcher == "slurm"})
    each = _count(sizes[0], "node") if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} nodes"
    return f"{told}, {each} a job, at most {total:g} GPU-hours in all"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _properties(plan: Plan) -> str:
    """The computed properties that are not 0, by the names that the lockfile and the JSON have for them."""
    found = asdict(plan.topology)
    said = {name: value for name, value in found.items() if value is False or value}
    return " ".join(f"{name}={json.dumps(value)}" for name, value in said.items())


def _scopes(plan: Plan) -> Iterator[tuple[str, dict[str, str]]]:
    recipe = plan.resolved
    yield "cluster file", plan.cluster.environment
    yield "recipe", recipe.environment
    for mode, role in recipe.roles.items() if recipe.roles else ():
        yield f"roles.{mode}", role.env
    if recipe.frontend is not None:
        yield "frontend", recipe.frontend.env


def _variables(env: dict[str, str]) -> str:
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())


def _step(plan: Plan, step: Step) -> list[str]:
    where = ", ".join(step.nodes or (step.node,))
    process = next((p for p in plan.deployment.processes if step_name(p) == step.name), None)
    told = f", port {step.probe.port}" if step.probe else ""
    if process is not None:
        told = "".join(f", {name} {port}" for name, port in ports(process).items() if port is not None)
    if step.kind == "service":
        told += f", {step.start}" + _told(step)
    lines = [f"  {step.name}  on {where}{told}"]
    lines += (
        [f"    srun {_options(step.srun_options)}"] if step.srun_options and plan.launcher == "slurm" else []
    )
    lines += [f"    image {step.image}"] if step.image else []
    lines += [f"    mount {host}:{target}" for host, target in step.mounts.items()]
    lines += [f"    env {_variables(step.command.env)}"] if step.command.env else []
    return [*lines, textwrap.indent(shlex.join(step.command.argv), "    ")]


def _files(step: Step, shown: set[tuple[str, str]]) -> Iterator[str]:
    """The files that a process finds, each once: those of a role are the same; `shown` grows by them."""
    for path, text in step.command.files.items():
        if (path, text) not in shown:
            shown.add((path, text))
            yield f"    file {path}"
            yield textwrap.indent(text.rstrip("\n"), "      ")


def _told(step: Step) -> str:
    """What the end of a service means, and how its readiness is asked beside its ports."""
    facts = ["critical"] if step.critical else []
    facts += ["terminal"] if step.terminal else []
    if step.readiness is not None:
        facts += [f"log {step.readiness.log!r}"] if step.readiness.log else []
        facts += [f"file {step.readiness.file}"] if step.readiness.file else []
    return "".join(f", {fact}" for fact in facts)


def _options(options: dict[str, str]) -> str:
    return " ".join(f"--{name}={value}" if value else f"--{name}" for name, value in options.items())
