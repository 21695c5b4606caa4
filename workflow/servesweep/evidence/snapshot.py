"""`logs/resource_snapshot.json`: the CPUs and GPUs that the run really had."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from servesweep.evidence.cpu_check import CpuCheck, CpuSignals, judge
from servesweep.evidence.files import write_atomically
from servesweep.plan.plan import Plan

SNAPSHOT = "resource_snapshot.json"


def write_snapshot(
    path: Path, plan: Plan, job_id: str | None, hosts: Mapping[str, str], signals: CpuSignals
) -> CpuCheck:
    """Record the hardware, what the plan asks of it, and whether the CPUs suffice.

    `hosts` are the plan's nodes and the hosts that stand for them.
    """
    backend = backend_gpus(plan, hosts)
    check = judge(signals, backend, plan.gpu_type)
    snapshot = {
        "version": 1,
        "captured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "job_id": job_id,
        "hardware": {
            "architecture": platform.machine(),
            "cpu_model": _cpu_model(),
            "host_logical_cpus": os.cpu_count(),
        },
        "nodes": {"count": len(plan.nodes), "names": list(hosts.values())},
        "gpus": {
            "type": plan.gpu_type,
            "configured_per_node": plan.topology.gpus_per_node,
            "configured_total": plan.topology.gpus_per_node * len(plan.nodes),
            "backend_total": plan.topology.total_gpus,
        },
        "cpus": _cpus(signals, backend, check),
        "slurm_environment": dict(signals.slurm),
        "cpu_check": check.record(),
    }
    write_atomically(path, json.dumps(snapshot, indent=1) + "\n")
    return check


def backend_gpus(plan: Plan, hosts: Mapping[str, str]) -> dict[str, int]:
    """The GPUs that workers hold on each host; engines that stand by on the same GPUs hold no more."""
    held = {
        (hosts.get(process.node, process.node), process.node, gpu)
        for process in plan.deployment.processes
        for gpu in process.gpus
    }
    return dict(Counter(host for host, _, _ in sorted(held)))


def _cpus(signals: CpuSignals, backend: Mapping[str, int], check: CpuCheck) -> dict[str, Any]:
    return {
        "allocated_total": sum(signals.allocated.values()) or None,
        "allocated_per_node": dict(signals.allocated),
        "current_node": signals.here,
        "current_node_allocated": signals.allocated.get(signals.here),
        "process_affinity_count": len(signals.affinity),
        "process_affinity_list": list(signals.affinity),
        "effective_for_check": check.cpus,
        "backend_node_allocations": [
            {"node": node, "allocated_cpus": signals.allocated.get(node), "backend_gpus": gpus}
            for node, gpus in backend.items()
        ],
    }


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
