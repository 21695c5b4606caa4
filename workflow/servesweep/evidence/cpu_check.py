"""Are there CPUs enough? At least one for each GPU that workers hold, on the node that has it worst."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

CPUS_PER_GPU = 1
VIRTUAL = "virtual"
ON_NODE = "SLURM_CPUS_ON_NODE"
PER_NODE = "SLURM_JOB_CPUS_PER_NODE"
ADVICE = (
    "ask for more by cpus_per_gpu of the cluster file, by cpus-per-task or cpus-per-gpu in the recipe's "
    "sbatch_directives, or for whole nodes by exclusive"
)


@dataclass(frozen=True)
class CpuSignals:
    """What Slurm and the kernel tell about the CPUs of a job; each of them may tell nothing.

    `here` is the node of the supervising process, `allocated` the CPUs of the job on each node, `slurm` the
    values of Slurm's CPU variables, `affinity` the CPUs that the process may run on.
    """

    here: str
    allocated: Mapping[str, int] = field(default_factory=dict)
    slurm: Mapping[str, str] = field(default_factory=dict)
    affinity: tuple[int, ...] = ()

    def of(self, node: str) -> dict[str, int]:
        """Every count that holds for a node, by its source."""
        found = {"slurm_allocation": self.allocated[node]} if node in self.allocated else {}
        if node == self.here:
            if (told := self.slurm.get(ON_NODE, "")).isdigit():
                found[ON_NODE] = int(told)
            if self.affinity:
                found["process_affinity"] = len(self.affinity)
        return found


@dataclass(frozen=True)
class CpuCheck:
    """The verdict, and the node that it is about."""

    status: Literal["ok", "warning", "unknown"]
    message: str
    node: str | None = None
    gpus: int | None = None
    cpus: int | None = None
    source: str | None = None

    def record(self) -> dict[str, Any]:
        """As it stands in the resource snapshot."""
        return {
            "status": self.status,
            "gpu_count_basis": "backend_gpus_of_node",
            "minimum_cpu_count": None if self.gpus is None else self.gpus * CPUS_PER_GPU,
            "available_cpu_count": self.cpus,
            "available_cpu_source": self.source,
            "node": self.node,
            "message": self.message,
        }


def judge(signals: CpuSignals, backend: Mapping[str, int], gpu_type: str | None) -> CpuCheck:
    """Judge by the node with the fewest CPUs for each of its GPUs; `backend` are the GPUs of workers."""
    if gpu_type == VIRTUAL:
        return CpuCheck("unknown", "the GPUs are virtual, and ask for no CPU")
    wanting = {node: gpus for node, gpus in backend.items() if gpus}
    if not wanting:
        return CpuCheck("ok", "no worker holds a GPU")
    known = [
        (count / wanting[node], node, count, source)
        for node in wanting
        for source, count in signals.of(node).items()
    ]
    if not known:
        return CpuCheck("unknown", "neither Slurm nor the kernel tells the CPUs of a node with workers")
    _, node, count, source = min(known, key=lambda entry: entry[0])
    gpus = wanting[node]
    told = f"{_many(count, 'CPU')} for the {_many(gpus, 'GPU')} that workers hold on {node} (by {source})"
    if count < gpus * CPUS_PER_GPU:
        message = f"{told}, and at least {gpus * CPUS_PER_GPU} are wanted: {ADVICE}"
        return CpuCheck("warning", message, node, gpus, count, source)
    return CpuCheck("ok", told, node, gpus, count, source)


def told_signals(signals: CpuSignals) -> str:
    """One line for the log: Slurm's two words, and where the process may run."""
    words = [f"{name}={signals.slurm.get(name, 'unset')}" for name in (PER_NODE, ON_NODE)]
    affinity = f"{len(signals.affinity)} ({ranges(signals.affinity)})"
    return f"CPUs: {', '.join(words)}, affinity of the process: {affinity}"


def told_warning(check: CpuCheck) -> list[str]:
    """Lines that cannot be overlooked; none without a warning."""
    if check.status != "warning":
        return []
    bar = "!" * 100
    return [bar, f"CPU ALLOCATION WARNING: {check.message}", bar]


def ranges(numbers: tuple[int, ...]) -> str:
    """`0-3,8` for 0, 1, 2, 3, 8: as the kernel writes lists of CPUs (cpuset(7))."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def count_of(cpu_ids: str) -> int:
    """How many CPUs `56-63,70` are."""
    return sum(last - first + 1 for first, last in _runs(cpu_ids))


def per_node(text: str) -> list[int]:
    """CPUs of each node in order, from SLURM_JOB_CPUS_PER_NODE: `72(x2),36` is 72, 72, 36 (sbatch(1))."""
    counts: list[int] = []
    for count, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", text):
        counts += [int(count)] * int(times or 1)
    return counts


def _runs(cpu_ids: str) -> Iterator[tuple[int, int]]:
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", cpu_ids):
        yield int(first), int(last or first)


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
