"""`logs/resource_snapshot.json`: the CPUs and GPUs that the run really had."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from servesweep.evidence.files import write_atomically
from servesweep.plan.plan import Plan


def write_snapshot(path: Path, plan: Plan, job_id: str | None) -> None:
    """Record the hardware of this node and what the plan asks of it."""
    snapshot = {
        "version": 1,
        "captured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "job_id": job_id,
        "hardware": {
            "architecture": platform.machine(),
            "cpu_model": _cpu_model(),
            "host_logical_cpus": os.cpu_count(),
        },
        "nodes": {"count": len(plan.nodes)},
        "gpus": {
            "type": plan.gpu_type,
            "configured_per_node": plan.topology.gpus_per_node,
            "configured_total": plan.topology.gpus_per_node * len(plan.nodes),
            "backend_total": plan.topology.total_gpus,
        },
        "cpus": {
            "process_affinity_count": len(os.sched_getaffinity(0)),
            "process_affinity_list": sorted(os.sched_getaffinity(0)),
        },
    }
    write_atomically(path, json.dumps(snapshot, indent=1) + "\n")


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)
