"""The allocation as it is found: which hosts stand for the plan's nodes."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pydantic import Field

from servesweep.topology.deployment import Binding, Value


class AllocationError(Exception):
    """The allocation cannot be used; its text is one sentence."""


class Host(Value):
    """A real host that stands for a symbolic node."""

    name: str = Field(description="Symbolic node.")
    host: str = Field(description="Host name.")
    address: str = Field(description="Address by which the other nodes reach it.")


class Allocation(Value):
    """Where a configuration runs and who supervises it."""

    launcher: Literal["local", "slurm"] = Field(description="How processes are started.")
    job_id: str | None = Field(default=None, description="Slurm job.")
    hosts: tuple[Host, ...] = Field(description="Hosts, in the order of the plan's nodes.")
    supervisor_host: str = Field(description="Host of the supervising process.")
    supervisor_pid: int = Field(description="Its process id.")
    started_at: str = Field(description="UTC time at which it was found.")

    def host(self, node: str) -> Host:
        """The host of a symbolic node."""
        return next(host for host in self.hosts if host.name == node)

    def binding(self, logs: Path) -> Binding:
        """What the plan's symbols stand for in this allocation."""
        scratch = f"/tmp/servesweep-{self.job_id or self.supervisor_pid}"
        return Binding(addresses={h.name: h.address for h in self.hosts}, logs=str(logs), scratch=scratch)


def find_allocation(launcher: Literal["local", "slurm"], nodes: list[str]) -> Allocation:
    """Find the hosts for the plan's nodes: this machine, or those of the Slurm job around us.

    Raises:
        AllocationError: outside of a job, or where the job has fewer nodes than the plan.
    """
    found = _local_hosts(nodes) if launcher == "local" else _slurm_hosts(nodes)
    return Allocation(
        launcher=launcher,
        job_id=os.environ.get("SLURM_JOB_ID") if launcher == "slurm" else None,
        hosts=tuple(found),
        supervisor_host=socket.gethostname(),
        supervisor_pid=os.getpid(),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def stopped_by(name: str, launcher: Literal["local", "slurm"]) -> str:
    """One sentence about the signal that ends this run: Slurm tells what it does to the job around us."""
    job, told = os.environ.get("SLURM_JOB_ID"), f"stopped by {name}"
    if launcher == "local" or job is None:
        return told
    try:
        shown = _scontrol("show", "job", job, "-o")
    except AllocationError:
        return told
    if re.search(r"\sReason=TimeLimit\b", shown):
        limit = re.search(r"\sTimeLimit=(\S+)", shown)
        return f"{told}: the time limit of job {job}, {limit.group(1) if limit else 'which it had'}, is over"
    ends = re.search(r"\sJobState=(?:CANCELLED|COMPLETING|PREEMPTED|NODE_FAIL)", shown)
    return f"{told}: job {job} was cancelled" if ends else told


def _local_hosts(nodes: list[str]) -> list[Host]:
    return [Host(name=node, host=node, address="127.0.0.1") for node in nodes]


def _slurm_hosts(nodes: list[str]) -> list[Host]:
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        raise AllocationError("the launcher is slurm, but this is not a Slurm job: SLURM_JOB_ID is not set")
    # The executor's job step strips SLURM_* from the environment, all but the job's id: ask Slurm.
    shown = _scontrol("show", "job", job, "-o")
    match = re.search(r"\sNodeList=(\S+)", shown)
    if match is None:
        raise AllocationError(f"Slurm does not tell the nodes of job {job}")
    names = _scontrol("show", "hostnames", match.group(1)).split()
    if len(names) < len(nodes):
        raise AllocationError(f"job {job} has {len(names)} nodes, and the plan needs {len(nodes)}")
    return [
        Host(name=node, host=name, address=_address(name)) for node, name in zip(nodes, names, strict=False)
    ]


def _scontrol(*words: str) -> str:
    done = subprocess.run(["scontrol", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AllocationError(f"scontrol {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def _address(name: str) -> str:
    """First IPv4 address of a node, by Slurm's NodeAddr, which may differ from its host name."""
    match = re.search(r"\bNodeAddr=(\S+)", _scontrol("show", "node", name, "-o"))
    wanted = match.group(1) if match else name
    try:
        return str(socket.getaddrinfo(wanted, None, socket.AF_INET)[0][4][0])
    except OSError as error:
        raise AllocationError(f"no address of node {name} ({wanted}): {error}") from None
