"""What Slurm and the kernel tell about the CPUs of the allocation around us."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from servesweep.evidence.cpu_check import (
    PER_NODE,
    CpuSignals,
    count_of,
    per_node,
    told_signals,
    told_warning,
)
from servesweep.evidence.snapshot import SNAPSHOT, write_snapshot
from servesweep.plan.plan import Plan
from servesweep.runtime.allocation import Allocation
from servesweep.runtime.processes import ancestors, environment

NODES = "SLURM_JOB_NODELIST"
HET_GROUP = "_HET_GROUP_"


def record_resources(logs: Path, plan: Plan, allocation: Allocation, say: Callable[[str], None]) -> None:
    """Write the resource snapshot and tell the CPUs; too few of them are told so that nobody overlooks it."""
    signals = cpu_signals(allocation)
    hosts = {host.name: host.host for host in allocation.hosts}
    if allocation.launcher == "local":
        hosts = dict.fromkeys(hosts, signals.here)
    say(told_signals(signals))
    for line in told_warning(write_snapshot(logs / SNAPSHOT, plan, allocation.job_id, hosts, signals)):
        say(line)


def cpu_signals(allocation: Allocation) -> CpuSignals:
    """Ask Slurm, the batch step's environment and the kernel; whoever does not answer is left out."""
    batch = batch_environment(allocation.job_id)
    allocated = _allocated(allocation.job_id) or dict(_by_environment(batch))
    if allocation.launcher == "local":
        here = socket.gethostname()
    else:
        here = os.environ.get("SLURMD_NODENAME") or allocation.hosts[0].host
    return CpuSignals(
        here=here,
        allocated=allocated,
        slurm={name: value for name, value in sorted(batch.items()) if is_cpu_variable(name)},
        affinity=tuple(sorted(os.sched_getaffinity(0))),
    )


def is_cpu_variable(name: str) -> bool:
    """Whether a variable is Slurm's own and tells of CPUs."""
    # Slurm 22.05 repeats every value under the older word for a heterogeneous group.
    return name.startswith("SLURM_") and "CPU" in name and "_PACK_GROUP_" not in name


def batch_environment(job: str | None) -> Mapping[str, str]:
    """The environment that Slurm gave to the job: our own, or that of the process that started us.

    The executor's job step takes SLURM_* away from the rule; the batch script above it still has them.
    """
    for found in (os.environ, *(environment(pid) for pid in ancestors(os.getpid()))):
        if PER_NODE in found and job in (None, found.get("SLURM_JOB_ID")):
            return found
    return {}


def detailed_cpus(shown: str) -> list[tuple[str, int]]:
    """(node list, CPUs on each of its nodes) from `scontrol show job -d`, of every component of the job."""
    found = re.findall(r"^\s*Nodes=(\S+) CPU_IDs=(\S+)", shown, re.MULTILINE)
    return [(nodes, count_of(ids)) for nodes, ids in found]


def _allocated(job: str | None) -> dict[str, int]:
    if job is None:
        return {}
    shown = _scontrol("show", "job", "-d", job)
    return {node: cpus for nodes, cpus in detailed_cpus(shown) for node in _hostnames(nodes)}


def _by_environment(batch: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """The same from the variables, where scontrol tells no CPU_IDs: (node, CPUs)."""
    groups = [name.removeprefix(NODES) for name in batch if name.startswith(NODES + HET_GROUP)]
    for group in groups or [""]:
        counts = per_node(batch.get(PER_NODE + group, ""))
        yield from zip(_hostnames(batch.get(NODES + group, "")), counts, strict=False)


def _hostnames(nodes: str) -> list[str]:
    if "[" not in nodes:
        return nodes.split(",") if nodes else []
    return _scontrol("show", "hostnames", nodes).split()


def _scontrol(*words: str) -> str:
    try:
        done = subprocess.run(["scontrol", *words], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
