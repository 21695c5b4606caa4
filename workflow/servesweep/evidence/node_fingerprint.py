"""What a worker's process finds where it runs: its processor, its CPUs, its GPUs.

This file is copied beside the logs and run by whatever python3 the worker's own environment has: it needs
the standard library of Python 3.8 alone, and no package of this project. `node_fingerprint.py FILE GPUS`
writes FILE; `{rank}` in its name becomes the number of the process within its Slurm step. Of the environment
it tells Slurm's CPU variables and nothing else.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

QUERY = ["nvidia-smi", "--query-gpu=index,uuid,name,driver_version,memory.total", "--format=csv,noheader"]
QUERY_SECONDS = 30


def fingerprint(assigned: list[int]) -> dict[str, Any]:
    """Everything as one object; `assigned` are the GPUs that the plan gives to the process."""
    affinity = sorted(os.sched_getaffinity(0))
    return {
        "hostname": socket.gethostname(),
        "timestamp": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),  # noqa: UP017
        "arch": platform.machine(),
        "os": f"{platform.system()} {platform.release()}",
        "cpu": {
            "model": cpu_model(),
            "logical_cpus": os.cpu_count(),
            "affinity_cpus": len(affinity),
            "affinity_list": affinity,
            "slurm": {name: os.environ[name] for name in sorted(os.environ) if tells_cpus(name)},
        },
        "gpu": {**gpus(query()), "assigned": assigned},
        "python_version": platform.python_version(),
    }


def tells_cpus(name: str) -> bool:
    """Whether a variable is Slurm's own and tells of CPUs."""
    return name.startswith("SLURM_") and "CPU" in name and "_PACK_GROUP_" not in name


def cpu_model() -> str | None:
    """Name of the processor as the kernel tells it; None where it does not."""
    try:
        with open("/proc/cpuinfo") as lines:  # noqa: PTH123
            return next(
                (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None
            )
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def query() -> str:
    """What nvidia-smi prints of the GPUs that the process can reach; nothing where there is none."""
    try:
        done = subprocess.run(QUERY, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=QUERY_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def gpus(csv: str) -> dict[str, Any]:
    """Index, uuid, name, driver and memory of each line of nvidia-smi."""
    rows = [[cell.strip() for cell in line.split(",")] for line in csv.splitlines() if line.count(",") == 4]
    keys = ("index", "uuid", "name", "driver", "memory")
    found = [dict(zip(keys, row)) for row in rows]  # noqa: B905
    return {"available": bool(found), "driver": found[0]["driver"] if found else None, "gpus": found}


def main(path: str, assigned: str) -> None:
    """Write the file so that nobody sees half of it."""
    path = path.replace("{rank}", os.environ.get("SLURM_PROCID", "0"))
    temporary = f"{path}.{socket.gethostname()}.{os.getpid()}"
    found = fingerprint([int(gpu) for gpu in assigned.split(",") if gpu])
    Path(temporary).write_text(json.dumps(found, indent=1) + "\n")
    Path(temporary).replace(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
