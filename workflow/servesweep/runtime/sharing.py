"""Which window of ports a job has on each of its nodes: by what Slurm gave to it there, and to nobody else.

Two jobs on one node hold different GPUs, or different CPUs, so that neither has to ask the other one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from servesweep.topology.ports import PUBLIC
from servesweep.topology.windows import of_cpu, of_gpu, within

# A group of nodes in `scontrol show job --detail`, with the job's numbers of CPUs and GPUs on each of them.
DETAIL = re.compile(r"\bNodes=(\S+) CPU_IDs=(\S+) Mem=\d+ GRES=(\S*)")
GPUS = re.compile(r"\bgpu[^(,]*\(IDX:([\d,-]+)\)")
FIRST = re.compile(r"\d+")
# `--exclusive`: nobody else has anything of the job's nodes.
ALONE = re.compile(r"\bOverSubscribe=(?:NO|EXCLUSIVE)\b")

Names = Callable[[str], list[str]]


def windows_of(job: str, names: Names, node: Callable[[str], str]) -> dict[str, int]:
    """Host to the window of its ports, for the hosts that may carry other jobs.

    Args:
        job: lines of `scontrol show job --detail -o`, one a component.
        names: expands a list of hosts as Slurm writes it.
        node: the line of `scontrol show node -o` of a host.

    Raises:
        PortError: where a node has more GPUs than there are windows.
    """
    found = {}
    for line in job.splitlines():
        if ALONE.search(line):
            continue
        for hosts, cpus, gres in DETAIL.findall(line):
            for host in names(hosts):
                window = _window(cpus, gres, partial(node, host))
                if window is not None:
                    found[host] = window
    return found


def _window(cpus: str, gres: str, node: Callable[[], str]) -> int | None:
    first = [int(number) for numbers in GPUS.findall(gres) for number in FIRST.findall(numbers)]
    if first:
        return of_gpu(min(first))
    shown = node()
    total = re.search(r"\bCPUTot=(\d+)", shown)
    begin = FIRST.search(cpus)
    if total is None or begin is None or _count(cpus) >= int(total[1]):
        return None
    return of_cpu(int(begin[0]), int(total[1]), re.search(r"\bGres=\S*gpu", shown) is not None)


def _count(ranges: str) -> int:
    """How many numbers `0-3,8` has."""
    ends = [part.split("-") for part in ranges.split(",")]
    return sum(int(pair[-1]) - int(pair[0]) + 1 for pair in ends)


def told(windows: Mapping[str, int], host: Callable[[str], str]) -> list[str]:
    """A line for each node on which ports are not the usual ones."""
    return [
        f"{host(node)} may carry other jobs: there {PUBLIC} is {within(window, PUBLIC)}, and every other port"
        f" has moved too (window {window})"
        for node, window in windows.items()
        if window
    ]
