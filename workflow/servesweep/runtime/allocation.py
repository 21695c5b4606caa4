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

from servesweep.runtime.sharing import windows_of
from servesweep.topology.deployment import Binding, Value
from servesweep.topology.ports import PortError

PROXY_VARIABLES = {"http_proxy", "https_proxy", "all_proxy"}
# What `scontrol show job` (22.05) shows at the moment at which it ends a job; the first sign counts.
ENDS = {
    r"\sJobState=NODE_FAIL\b|\sReason=NodeDown\b": "a node of job {job} has failed",
    r"\sJobState=PREEMPTED\b|\sPreemptTime=(?!None\b|Unknown\b)\S": "job {job} was preempted",
    # The start of what goes back lies in the future; of a job that is cancelled here it does not.
    r"\sJobState=(?:COMPLETING|PENDING|REQUEUED)\b.*\sRunTime=00:00:00": "job {job} goes back into the queue",
    r"\sJobState=(?:CANCELLED|COMPLETING)\b": "job {job} was cancelled",
}
OVER = r"\sReason=TimeLimit\b"


class AllocationError(Exception):
    """The allocation cannot be used; its text is one sentence."""


class Host(Value):
    """A real host that stands for a symbolic node."""

    name: str = Field(description="Symbolic node.")
    host: str = Field(description="Host name.")
    address: str = Field(description="Address by which the other nodes reach it.")
    het_group: int | None = Field(
        default=None, description="Component of a heterogeneous job that it belongs to; None in another job."
    )
    window: int | None = Field(
        default=None,
        description="Window of ports that the job has on it; None: nobody else has any there.",
    )


class Allocation(Value):
    """Where a configuration runs and who supervises it."""

    launcher: Literal["local", "slurm"] = Field(description="How processes are started.")
    job_id: str | None = Field(default=None, description="Slurm job.")
    hosts: tuple[Host, ...] = Field(description="Hosts, in the order of the plan's nodes.")
    supervisor_host: str = Field(description="Host of the supervising process.")
    supervisor_pid: int = Field(description="Its process id.")
    project: str = Field(default=".", description="Directory from which relative paths of recipes count.")
    started_at: str = Field(description="UTC time at which it was found.")
    digest: str | None = Field(default=None, description="Digest of the plan that it is used for.")

    @property
    def job_ids(self) -> tuple[str, ...]:
        """The job's number, and those of a heterogeneous job's further components, which follow it."""
        if self.job_id is None:
            return ()
        groups = {host.het_group or 0 for host in self.hosts}
        return tuple(str(int(self.job_id) + group) for group in range(max(groups, default=0) + 1))

    def host(self, node: str) -> Host:
        """The host of a symbolic node."""
        return next(host for host in self.hosts if host.name == node)

    def binding(self, logs: Path) -> Binding:
        """What the plan's symbols stand for in this allocation."""
        owner = f"job-{self.job_id}" if self.job_id else f"process-{self.supervisor_pid}"
        scratch = f"/tmp/servesweep-{owner}"
        return Binding(
            addresses={h.name: h.address for h in self.hosts},
            hosts={h.name: h.host for h in self.hosts if h.host != h.name},
            logs=str(logs),
            job=self.job_id or str(self.supervisor_pid),
            scratch=scratch,
            windows={h.name: h.window for h in self.hosts if h.window is not None},
        )

    def past_the_proxy(self) -> dict[str, str]:
        """Variables that keep traffic between the hosts from a web proxy; none where no proxy is set.

        Compute nodes often have one in their environment, and routers, gRPC and curl obey it.
        """
        if not {name.lower() for name, value in os.environ.items() if value} & PROXY_VARIABLES:
            return {}
        known = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
        own = [word for host in self.hosts for word in (host.host, host.address)]
        told = ",".join(word for word in (known, "localhost", "127.0.0.1", *own) if word)
        return {"no_proxy": told, "NO_PROXY": told}


def comment_job(allocation: Allocation, name: str, comment: str | None) -> None:
    """Put the recipe's name and its own comment on the job, behind the executor's comment.

    The job's name is the executor's run id, so this is what `squeue -o %k` shows of the recipe. A job
    without it is none the worse: a refusal is ignored.
    """
    if allocation.job_id is None:
        return
    shown = subprocess.run(
        ["squeue", "--noheader", f"--jobs={allocation.job_id}", "--format=%k"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    first = shown.stdout.strip().partition(" ")[0]
    told = " ".join(word for word in (first if first != "(null)" else "", name, comment or "") if word)
    words = ["scontrol", "update", f"jobid={allocation.job_id}", f"comment={told}"]
    subprocess.run(words, capture_output=True, check=False)


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
        project=str(Path.cwd()),
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def stopped_by(name: str, launcher: Literal["local", "slurm"]) -> str:
    """One sentence about the signal that ends this run: Slurm tells what it does to the job around us."""
    job, told = os.environ.get("SLURM_JOB_ID"), f"stopped by {name}"
    if launcher == "local" or job is None:
        return told
    shown = _shown(job)
    if re.search(OVER, shown):
        limit = re.search(r"\sTimeLimit=(\S+)", shown)
        return f"{told}: the time limit of job {job}, {limit.group(1) if limit else 'which it had'}, is over"
    what = _end_in(shown, job)
    return f"{told}: {what}" if what else told


def what_ends(job: str) -> str | None:
    """What Slurm does to a job that it ends before its time; None in a job that runs or is out of time."""
    shown = _shown(job)
    return None if re.search(OVER, shown) else _end_in(shown, job)


def _end_in(shown: str, job: str) -> str | None:
    return next((what.format(job=job) for sign, what in ENDS.items() if re.search(sign, shown)), None)


def _shown(job: str) -> str:
    try:
        return _scontrol("show", "job", job, "-o")
    except AllocationError:
        return ""


def _local_hosts(nodes: list[str]) -> list[Host]:
    return [Host(name=node, host=node, address="127.0.0.1") for node in nodes]


def _slurm_hosts(nodes: list[str]) -> list[Host]:
    job = os.environ.get("SLURM_JOB_ID")
    if job is None:
        raise AllocationError("the launcher is slurm, but this is not a Slurm job: SLURM_JOB_ID is not set")
    # The executor's job step strips SLURM_* from the environment, all but the job's id: ask Slurm.
    lines = _scontrol("show", "job", "--detail", job, "-o")
    found = [pair for line in lines.splitlines() for pair in _component(line)]
    if not found:
        raise AllocationError(f"Slurm does not tell the nodes of job {job}")
    if len(found) < len(nodes):
        raise AllocationError(f"job {job} has {len(found)} nodes, and the plan needs {len(nodes)}")
    found = found[: len(nodes)]
    addresses = _addresses([name for name, _ in found])
    windows = _windows(lines)
    return [
        Host(name=node, host=name, address=address, het_group=group, window=windows.get(name))
        for node, (name, group), address in zip(nodes, found, addresses, strict=True)
    ]


def _windows(lines: str) -> dict[str, int]:
    try:
        return windows_of(
            lines,
            lambda hosts: _scontrol("show", "hostnames", hosts).split(),
            lambda host: _scontrol("show", "node", host, "-o"),
        )
    except PortError as error:
        raise AllocationError(str(error)) from None


def _component(line: str) -> list[tuple[str, int | None]]:
    """(host, number of the component) of a job, or of one component of a heterogeneous one.

    The supervisor runs in the batch step: services, frontend and client of n0 belong on its node.
    """
    nodes = re.search(r"\sNodeList=(\S+)", line)
    if nodes is None or nodes.group(1) == "(null)":
        return []
    names = _scontrol("show", "hostnames", nodes.group(1)).split()
    batch, offset = re.search(r"\sBatchHost=(\S+)", line), re.search(r"\sHetJobOffset=(\d+)", line)
    if batch:
        names.sort(key=lambda name: name != batch.group(1))
    return [(name, int(offset.group(1)) if offset else None) for name in names]


def _addresses(names: list[str]) -> list[str]:
    """An address for each node by which the others reach it.

    A node may know its own name as 127.0.1.1 (Debian's /etc/hosts): then it is the address from which it
    sends to another node of the job.
    """
    found = [_address(name) for name in names]
    elsewhere = next((address for address in found if not address.startswith("127.")), None)
    if elsewhere is None:
        return found
    return [_own_address(elsewhere) if address.startswith("127.") else address for address in found]


def _own_address(towards: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Connecting a datagram socket sends nothing; it only chooses the route.
        probe.connect((towards, 9))
        return str(probe.getsockname()[0])


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
