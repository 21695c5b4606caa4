"""`logs/fingerprint_<mode>_w<i>.json`: where each worker's process really ran.

The process writes it itself, in its own step and its own container, while its engine starts: a shell starts
the writer in the background and becomes the engine.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from servesweep.evidence.files import write_atomically
from servesweep.evidence.points import read_json
from servesweep.plan.plan import Plan, Step
from servesweep.topology.deployment import Deployment

PREFIX = "fingerprint_"
WRITER = "node_fingerprint.py"
# The writer is nobody's child: an engine that waits for its children must not find a stranger among them.
SHELL = 'f=$1 o=$2 g=$3 m=$4; shift 4; (python3 -I "$f" "$o" "$g" "$m" >/dev/null 2>&1 &); exec "$@"'


def with_fingerprints(plan: Plan, logs: Path) -> Plan:
    """The plan whose workers write their fingerprints; puts the writer beside the logs.

    Raises:
        OSError: where the directory cannot be written.
    """
    source = package_files("servesweep.evidence").joinpath(WRITER).read_text(encoding="utf-8")
    write_atomically(logs / f".{WRITER}", source)
    several = Counter((step.mode, step.index) for step in plan.steps if step.kind == "worker")
    steps = [
        _writing(step, plan.deployment, several[step.mode, step.index] > 1) if step.kind == "worker" else step
        for step in plan.steps
    ]
    return replace(plan, steps=tuple(steps))


def fingerprint_name(step: Step, several: bool) -> str:
    """File of a worker's process: its rank is in the name where the worker has several."""
    # The names of steps are unique, whatever a further process of a worker is called after.
    own = step.name.removeprefix(f"{step.mode}_{step.index}")
    if several and not own:
        own = "_r0"
    return f"{PREFIX}{step.mode}_w{step.index}{own}" + ("_r{rank}.json" if step.tasks > 1 else ".json")


def _writing(step: Step, deployment: Deployment, several: bool) -> Step:
    gpus, logs = ",".join(map(str, step.gpus)), deployment.logs
    files = (f"{logs}/.{WRITER}", f"{logs}/{fingerprint_name(step, several)}")
    argv = ("sh", "-c", SHELL, "sh", *files, gpus, deployment.model, *step.command.argv)
    command = replace(step.command, argv=argv)
    return replace(step, command=command)


def read_fingerprints(logs: Path) -> dict[str, Any]:
    """`prefill_w0` and so on to the fingerprint that the process has written."""
    found = sorted(logs.glob(f"{PREFIX}*.json"))
    return {path.stem.removeprefix(PREFIX): record for path in found if (record := read_json(path))}
