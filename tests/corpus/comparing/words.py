"""Command lines without the order of their flags, `_` for `-`, and JSON by its value."""

from __future__ import annotations

import json
from typing import Any

from servesweep.plan.plan import Step

Row = dict[str, Any]
Flags = dict[str, list[list[str]]]
REMAP_ROOT = {"ENROOT_REMAP_ROOT": "yes"}


def command_line(words: list[str]) -> tuple[list[str], Flags]:
    """The words before the first long flag, and the values of every flag in the order of its repetitions."""
    words = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    first = next((at for at, word in enumerate(words) if word.startswith("--")), len(words))
    flags: Flags = {}
    for word in words[first:]:
        if word.startswith("--"):
            name = word[2:].replace("_", "-")
            flags.setdefault(name, []).append([])
        else:
            flags[name][-1].append(canonical(word))
    return words[:first], flags


def canonical(word: str) -> str:
    """JSON without its spelling."""
    try:
        return json.dumps(json.loads(word), sort_keys=True) if word.startswith(("{", "[")) else word
    except json.JSONDecodeError:
        return word


def srun_of(row: Row) -> Row:
    """What the reference asks of a step's srun."""
    options = {key: row[key] for key in ("mpi",) if key in row}
    options |= {"oversubscribe": ""} if row.get("oversubscribe") else {}
    options |= {"cpu-bind": row["cpu_bind"]} if "cpu_bind" in row else {}
    # pyxis has an option for what this variable asks of Enroot.
    options |= {"container-remap-root": ""} if row.get("srun_export_env") == REMAP_ROOT else {}
    options |= row.get("srun_options", {})
    assert row.get("nodes", 1) == len(row["nodelist"])
    return {"nodes": row["nodelist"], "tasks": row.get("ntasks", 1), "options": options}


def step_srun(step: Step) -> Row:
    return {
        "nodes": list(step.nodes or (step.node,)),
        "tasks": step.tasks,
        "options": dict(step.srun_options),
    }


def log_of(step: Step) -> str:
    return "<LOGS>/" + step.log.format(host=step.node)
