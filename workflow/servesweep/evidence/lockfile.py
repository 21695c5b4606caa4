"""`recipe.lock.yaml`: the recipe as it was written, and what came of it."""

from __future__ import annotations

import getpass
import hashlib
import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from servesweep import __version__
from servesweep.evidence.files import RunFiles, write_atomically
from servesweep.evidence.fingerprint import read_fingerprints
from servesweep.evidence.identity import banner, verify
from servesweep.evidence.lock_yaml import lock_yaml
from servesweep.evidence.points import read_json, why_open
from servesweep.evidence.reproduction import REPORT, reproduced, reproduction_report
from servesweep.evidence.restarts import noted_restarts, read_restarts
from servesweep.evidence.snapshot import SNAPSHOT
from servesweep.plan.locked import LOCKFILE, integrity, recipe_digest
from servesweep.plan.plan import Plan
from servesweep.recipe.hidden_text import hidden_text
from servesweep.recipe.source import parse

__all__ = ["LOCKFILE", "integrity", "lock_section", "recipe_text", "write_lockfile"]

LOCK_VERSION = 2
# What the snapshot holds of Slurm's environment to its name in the lockfile.
SLURM_NAMES = {
    "SLURM_JOB_CPUS_PER_NODE": "cpus_per_node",
    "SLURM_CPUS_ON_NODE": "cpus_on_node",
    "SLURM_CPUS_PER_TASK": "cpus_per_task",
    "SLURM_CPUS_PER_GPU": "cpus_per_gpu",
}
LOAD = ("isl", "osl", "concurrency", "request_rate")
HEADLINE = (
    *("request_throughput_per_s", "output_throughput_tok_s", "total_throughput_tok_s"),
    *("output_tok_s_per_gpu", "output_tok_s_per_user"),
    *(f"{p}_{name}_ms" for name in ("ttft", "tpot", "itl", "e2el") for p in ("mean", "p50", "p99")),
)


def write_lockfile(root: Path, plan: Plan, path: Path | None = None) -> Path:
    """Write the lockfile from the evidence that is there, of a finished run as of a failed one.

    Of a run of a lockfile it also writes what differs from the first one, `logs/reproduction-report.txt`.
    """
    files = RunFiles(root)
    text = recipe_text(files.recipe, plan)
    lock = lock_section(files, plan)
    lock["recipe_digest"] = recipe_digest(parse(text, str(files.recipe)).data)
    if (first := reproduced(files.recipe)) is not None:
        report = reproduction_report(first, lock)
        write_atomically(files.logs / REPORT, report)
        lock["reproduces"] = {"generated_at": first["generated_at"], "integrity": first["integrity"]}
    lock["integrity"] = integrity(lock)
    path = path or root / LOCKFILE
    write_atomically(path, f"{text.rstrip()}\n\n{lock_yaml({'lock': lock})}")
    return path


def lock_section(files: RunFiles, plan: Plan) -> dict[str, Any]:
    """Everything below `lock:`, but what says that it is whole."""
    fingerprints = read_fingerprints(files.logs)
    image = next((step.image for step in plan.steps if step.kind == "worker"), None)
    return {
        "version": LOCK_VERSION,
        "generated_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "servesweep_version": __version__,
        "configuration": plan.configuration,
        "recipe": plan.recipe,
        "variant": plan.variant,
        "digest": plan.digest,
        "settings": list(plan.settings),
        "slurm": _slurm(files, plan),
        "topology": asdict(plan.topology),
        "resolved": {
            "model_path": plan.deployment.model_path,
            "container_path": image,
            "log_dir": str(files.logs),
            "plan_sha256": _sha256(files.plan),
            "cluster": plan.cluster.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        },
        "notes": list(plan.notes),
        "verification": verify(plan.resolved.identity, image, fingerprints),
        "fingerprints": fingerprints,
        "resource_snapshot": read_json(files.logs / SNAPSHOT) or None,
        "worker_restarts": read_restarts(files.logs),
        "failure": read_json(files.failure).get("message"),
        "results": {point.id: _result(files, plan, point.id) for point in plan.points},
    }


def identity_lines(files: RunFiles, plan: Plan) -> list[str]:
    """What the running workers have found of what the recipe declares, for the story of the run."""
    image = next((step.image for step in plan.steps if step.kind == "worker"), None)
    return banner(verify(plan.resolved.identity, image, read_fingerprints(files.logs)))


def _slurm(files: RunFiles, plan: Plan) -> dict[str, Any]:
    allocation = read_json(files.allocation)
    told = read_json(files.logs / SNAPSHOT).get("slurm_environment") or {}
    return {
        "job_id": allocation.get("job_id"),
        "job_name": plan.name,
        "cluster": plan.cluster.cluster,
        "account": plan.slurm.slurm_account,
        "partition": plan.slurm.slurm_partition,
        "nodelist": ",".join(str(host.get("host")) for host in allocation.get("hosts", [])) or None,
        "num_nodes": plan.topology.total_nodes,
        "gpus_per_node": plan.topology.gpus_per_node,
        **{name: told[variable] for variable, name in SLURM_NAMES.items() if variable in told},
        "time_limit": str(timedelta(minutes=plan.slurm.runtime)) if plan.launcher == "slurm" else None,
        "user": _user(),
        "cwd": allocation.get("project"),
    }


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return None


def _sha256(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _result(files: RunFiles, plan: Plan, point: str) -> dict[str, Any]:
    planned = next(p for p in plan.points if p.id == point)
    result = read_json(files.result(point))
    asked = {"concurrency": planned.concurrency, "request_rate": planned.request_rate}
    load = {key: value for key, value in {**asked, **_load(result)}.items() if value is not None}
    across = len(noted_restarts(result))
    about = {**load, "repeat": planned.repeat, **({"worker_restarts": across} if across else {})}
    if result.get("valid") is True and result.get("digest") == planned.digest:
        metrics = result.get("metrics") or {}
        return {"status": "valid", **about, **{name: metrics[name] for name in HEADLINE if name in metrics}}
    return {"status": "not valid", "reason": why_open(files, planned), **about}


def _load(result: dict[str, Any]) -> dict[str, Any]:
    load = result.get("load") or {}
    return {key: load[key] for key in LOAD if load.get(key) is not None}


def recipe_text(path: Path, plan: Plan) -> str:
    """The recipe file's own text without an older lock; the resolved recipe where the file is gone.

    It has no secret in it.
    """
    try:
        text = hidden_text(path.read_text(encoding="utf-8"))
    except OSError:
        return lock_yaml(plan.resolved.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    if _is_flow(text):
        # `lock:` cannot stand behind a closing brace, as of JSON.
        data = parse(text, str(path)).data
        return lock_yaml({key: value for key, value in data.items() if key != "lock"})
    return re.sub(r"^lock:.*?(?=^\S|\Z)", "", text, flags=re.MULTILINE | re.DOTALL)


def _is_flow(text: str) -> bool:
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return False
    return isinstance(node, yaml.MappingNode) and bool(node.flow_style)
