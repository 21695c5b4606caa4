"""What a worker's process finds where it runs: its processor, CPUs and GPUs, its model, its software.

This file is copied beside the logs and run by whatever python3 the worker's own environment has: it needs
the standard library of Python 3.8 alone, and no package of this project. `node_fingerprint.py FILE GPUS
MODEL` writes FILE; `{rank}` in its name becomes the number of the process within its Slurm step. Of the
environment it tells Slurm's CPU variables and those that engines read; no value of a secret's name is told.
Names of keys and the choice of variables as in srt-slurm (https://github.com/NVIDIA/srt-slurm,
`fingerprint.py`).
"""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import subprocess
import sys
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

QUERY = ["nvidia-smi", "--query-gpu=index,uuid,name,driver_version,memory.total", "--format=csv,noheader"]
QUERY_SECONDS = 30
REDACTED = "***REDACTED***"
PREFIXES = (
    "CUDA_", "TORCH_", "PYTORCH_", "NCCL_", "VLLM_", "SGLANG_", "SGL_", "TRTLLM_", "TRT_LLM_", "TENSORRT_",
    "HF_", "TRANSFORMERS_", "DYN_", "NVIDIA_", "OMPI_", "UCX_", "NVSHMEM_",
)  # fmt: skip
SECRET = re.compile(r"TOKEN(?!S|I[SZ])|KEY|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
PASSWORD_OF_URL = re.compile(r"""(://[^\s/?#:@"'<>]*:)[^\s/?#"'<>]+@""")
# A framework to the distributions that it comes in.
FRAMEWORKS = {
    "vllm": ("vllm",),
    "sglang": ("sglang",),
    "tensorrt_llm": ("tensorrt-llm",),
    "dynamo": ("ai-dynamo",),
}


def fingerprint(assigned: list[int], model: str = "") -> dict[str, Any]:
    """Everything as one object; `assigned` are the GPUs that the plan gives to the process."""
    affinity = sorted(os.sched_getaffinity(0))
    packages = installed()
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
        "cuda_version": os.environ.get("CUDA_VERSION")
        or version_of(packages, r"nvidia-cuda-runtime(-cu\d+)?"),
        "nccl_version": os.environ.get("NCCL_VERSION") or version_of(packages, r"nvidia-nccl(-cu\d+)?"),
        "frameworks": {
            name: found
            for name, wanted in FRAMEWORKS.items()
            if (found := next((packages[one] for one in wanted if one in packages), None))
        },
        "model": model_facts(model),
        "env": told_environment(),
        "pip_packages": [f"{name}=={packages[name]}" for name in sorted(packages)],
    }


def installed() -> dict[str, str]:
    """Every distribution that this python finds, by its plain name, to its version."""
    found: dict[str, str] = {}
    for one in metadata.distributions():
        name = one.metadata["Name"]
        if name:
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), one.version)
    return found


def version_of(packages: dict[str, str], pattern: str) -> str | None:
    """Version of the first distribution whose whole name matches."""
    return next((packages[name] for name in sorted(packages) if re.fullmatch(pattern, name)), None)


def told_environment() -> dict[str, str]:
    """The variables that engines and their libraries read, without the values of secrets."""
    names = [name for name in sorted(os.environ) if name.startswith(PREFIXES)]
    return {name: REDACTED if SECRET.search(name) else told_value(os.environ[name]) for name in names}


def told_value(value: str) -> str:
    """The value of a variable, without the passwords of its URLs."""
    return PASSWORD_OF_URL.sub(rf"\1{REDACTED}@", value)


def model_facts(path: str) -> dict[str, str | None]:
    """Path of a model, and which repository and commit it comes from, where its directory tells."""
    facts: dict[str, str | None] = {"path": path or None, "repo": None, "revision": None}
    cached = re.search(r"models--([^/]+?)--([^/]+)(?:/snapshots/([0-9a-f]{40}))?", path)
    if cached:
        facts["repo"], facts["revision"] = f"{cached[1]}/{cached[2]}", cached[3]
    for told in (Path(path) / "model_metadata.json", Path(path) / "config.json") if path else ():
        data = read_object(told)
        facts["repo"] = facts["repo"] or text_of(data, "hf_repo", "repo", "model_id", "_name_or_path")
        facts["revision"] = facts["revision"] or text_of(data, "revision", "_commit_hash")
    facts["revision"] = facts["revision"] or downloaded_revision(Path(path))
    return facts


def downloaded_revision(path: Path) -> str | None:
    """The commit that `hf download --local-dir` notes beside each file (`_local_folder.py` of its source)."""
    for note in sorted((path / ".cache/huggingface/download").glob("*.metadata")):
        first = note.read_text(errors="replace").partition("\n")[0].strip()
        if re.fullmatch(r"[0-9a-f]{40}", first):
            return first
    return None


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object; empty where there is none."""
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def text_of(data: dict[str, Any], *keys: str) -> str | None:
    """The first of the keys that has a text, but for a path on some machine."""
    told = [data.get(key) for key in keys]
    return next((str(one) for one in told if isinstance(one, str) and one and not one.startswith("/")), None)


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


def main(path: str, assigned: str, model: str = "") -> None:
    """Write the file so that nobody sees half of it."""
    path = path.replace("{rank}", os.environ.get("SLURM_PROCID", "0"))
    temporary = f"{path}.{socket.gethostname()}.{os.getpid()}"
    found = fingerprint([int(gpu) for gpu in assigned.split(",") if gpu], model)
    Path(temporary).write_text(json.dumps(found, indent=1) + "\n")
    Path(temporary).replace(path)


if __name__ == "__main__":
    # The worker beside it starts at the same time, and everybody waits for that.
    os.nice(19)
    main(*sys.argv[1:])
