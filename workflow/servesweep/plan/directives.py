"""`sbatch_directives` in the words of the Slurm executor.

What the executor owns is mapped to its resources; the rest goes to sbatch as it is, by `slurm_extra`; what
can do neither is refused with the reason. Source: snakemake-executor-plugin-slurm 2.8, `submit_string.py` and
`validation.py`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from servesweep.plan.slurm_options import name_fault, value_fault
from servesweep.recipe.durations import parse_time_limit
from servesweep.recipe.limits import MOST_MEGABYTES
from servesweep.recipe.slurm import account_name, partition_names

EXECUTOR = "the workflow sets it"
TASKS = "every step says its own tasks; ask for CPUs"
BY_NODE = "GPUs are asked by node"
REFUSED = {
    "job-name": f"{EXECUTOR}: the executor finds its jobs by it; the recipe's name stands in the comment",
    "output": f"{EXECUTOR}: the log of a run is results/<configuration>/run.log",
    "error": f"{EXECUTOR}: the log of a run is results/<configuration>/run.log",
    "nodes": "the nodes follow from the roles: change roles.<role>.nodes",
    **dict.fromkeys(("ntasks", "ntasks-per-node"), f"{TASKS} with cpus-per-task or cpus-per-gpu"),
    "ntasks-per-gpu": f"{TASKS} with cpus-per-gpu",
    **dict.fromkeys(("ntasks-per-core", "ntasks-per-socket"), f"{TASKS} with cpus-per-task or cpus-per-gpu"),
    **dict.fromkeys(("gpus", "gpus-per-task", "gpus-per-socket"), f"{BY_NODE}: write gpus-per-node"),
    **dict.fromkeys(("tres-per-task", "tres-per-job"), f"{BY_NODE}: write gpus-per-node, or gres"),
    **dict.fromkeys(("mem-per-cpu", "mem-per-gpu"), "memory is asked by node: write mem"),
    "export": f"{EXECUTOR}: variables of the run stand under environment",
    "parsable": EXECUTOR,
    "chdir": f"{EXECUTOR}: the run starts where the workflow stands",
    "workdir": f"{EXECUTOR}: the run starts where the workflow stands",
    "clusters": "the executor asks one cluster: choose it in the profile",
    "array": "one configuration is one job: write a sweep instead",
    "wrap": "the job's command is the run itself",
    "wait": "the workflow waits for its jobs itself",
    "test-only": "the job would never run: `servesweep plan` shows the request",
}
# Two ways of asking for one thing: Slurm takes one of them, and the other would be dropped.
RIVALS = (("cpus-per-task", "cpus-per-gpu"), ("gpus-per-node", "gres"))
CPUS = re.compile(r"[1-9]\d{0,5}", re.ASCII)
GPUS = re.compile(r"([A-Za-z0-9_.-]+:)?[1-9]\d*", re.ASCII)
GRES = re.compile(r"[A-Za-z0-9_]+(:[A-Za-z0-9_.]+)?(:\d+[TGM]?)?")
MEMORY = re.compile(r"(\d+)([KMGT]?)B?", re.IGNORECASE)
UNITS = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024 * 1024}
# The executor looks for its own options everywhere in the text, inside values too: `my-Job` holds a `-J`.
SUSPECT = re.compile(r"-(?=[JoeDApncCNt])|--(?=[a-z])")


@dataclass
class Directives:
    """What directives ask, each in its own place; `faults` are (directive, sentence)."""

    account: str | None = None
    partition: str | None = None
    minutes: int | None = None
    constraint: str | None = None
    qos: str | None = None
    gres: str | None = None
    comment: str | None = None
    mem_mb: int | None = None
    whole_memory: bool = False
    cpus_per_node: int | None = None
    cpus_per_gpu: int | None = None
    gpus_per_node: str | None = None
    exclusive: bool = False
    segment: bool = False
    words: list[str] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)


def read_directives(given: Mapping[str, str]) -> Directives:
    """Sort directives into what the executor asks by itself, what it passes on, and faults."""
    found = Directives()
    for name, value in given.items():
        try:
            _take(name, value, found)
        except ValueError as error:
            found.faults.append((name, str(error)))
    found.faults += _rivals(given)
    return found


def over(defaults: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Directives over those of the cluster file: over the same, and those that ask for the same thing."""
    kept = dict(defaults)
    for pair in RIVALS:
        for one, other in (pair, pair[::-1]):
            if _asks(one, own) and _asks(other, kept):
                others = [part for part in _resources(kept.pop(other)) if not _is_gpu(part)]
                if other == "gres" and others:
                    kept["gres"] = ",".join(others)
    return {**kept, **own}


def _asks(name: str, given: Mapping[str, str]) -> bool:
    """Whether a directive is given; of `gres`, whether it asks for GPUs."""
    return name in given and (name != "gres" or any(map(_is_gpu, _resources(given["gres"]))))


def _resources(gres: str) -> list[str]:
    return [part.strip() for part in gres.split(",")]


def _is_gpu(resource: str) -> bool:
    return resource.partition(":")[0] == "gpu"


def _rivals(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for one, other in RIVALS:
        if _asks(one, given) and _asks(other, given):
            yield other, f"{one} asks for the same thing: keep one of them"


def _take(name: str, value: str, found: Directives) -> None:
    if (fault := name_fault(name, "sbatch")) is not None:
        raise ValueError(fault)
    if name in REFUSED:
        raise ValueError(REFUSED[name])
    if (fault := value_fault(name, value)) is not None:
        raise ValueError(fault)
    if name in ("account", "partition", "constraint", "qos", "comment"):
        check = {"account": account_name, "partition": partition_names}.get(name, str)
        setattr(found, name, check(value))
    elif name in ("cpus-per-task", "cpus-per-gpu"):
        if not CPUS.fullmatch(value):
            raise ValueError(f"expected a number of CPUs from 1, got {value!r}")
        setattr(found, {"cpus-per-task": "cpus_per_node"}.get(name, "cpus_per_gpu"), int(value))
    elif name == "time":
        found.minutes = parse_time_limit(value)
    elif name == "mem":
        found.mem_mb = _megabytes(value)
        found.whole_memory = found.mem_mb == 0
    elif name == "gres":
        _take_gres(value, found)
    elif name == "gpus-per-node":
        if not GPUS.fullmatch(value):
            raise ValueError(f"expected a number of GPUs from 1, or type:number, got {value!r}")
        found.gpus_per_node = value
    else:
        found.exclusive |= name == "exclusive"
        found.segment |= name == "segment"
        found.words.append(word(name, value))


def _take_gres(value: str, found: Directives) -> None:
    """GPUs are asked as GPUs of a node: as `gres` the executor would ask for tasks by GPU too."""
    parts = _resources(value)
    if not all(GRES.fullmatch(part) for part in parts):
        raise ValueError(f"expected name:number or name:type:number, got {value!r}")
    gpus = [part for part in parts if _is_gpu(part)]
    others = [part for part in parts if part not in gpus]
    if len(gpus) > 1 or len(others) > 1:
        raise ValueError("the executor asks for one kind of GPU and one other resource")
    if gpus:
        found.gpus_per_node = gpus[0].partition(":")[2] or "1"
    if others:
        found.gres = others[0]


def _megabytes(value: str) -> int:
    match = MEMORY.fullmatch(value.strip())
    if match is None:
        raise ValueError(f"expected memory of a node such as 64G or 64000 (MB), or 0 for all, got {value!r}")
    amount, unit = int(match[1]), match[2].upper()
    megabytes = max(1, int(amount * UNITS[unit])) if amount else 0
    if megabytes > MOST_MEGABYTES:
        raise ValueError(f"sbatch reads up to {MOST_MEGABYTES} (MB), got {value!r}")
    return megabytes


def word(name: str, value: str = "") -> str:
    """One word of a shell's command line, which the executor does not take for one of its own options.

    Two quotes that hold nothing mean nothing to a shell, and break what only looks like an option.
    """
    if not value:
        return f"--{name}"
    # Between quotes they close and open again, elsewhere they are empty text: nothing, either way.
    return f"--{name}=" + SUSPECT.sub(lambda found: found[0] + "''", shlex.quote(value))
