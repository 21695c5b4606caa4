"""`recipe.lock.yaml`: the recipe as it was written, and what came of it."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from servesweep import __version__
from servesweep.evidence.files import RunFiles, write_atomically
from servesweep.evidence.fingerprint import read_fingerprints
from servesweep.evidence.points import read_json, why_open
from servesweep.evidence.snapshot import SNAPSHOT
from servesweep.plan.plan import Plan
from servesweep.recipe.source import parse

LOCK_VERSION = 2
HEADLINE = (
    "output_throughput_tok_s",
    "output_tok_s_per_gpu",
    "output_tok_s_per_user",
    "p99_ttft_ms",
    "p99_itl_ms",
)


LOCKFILE = "recipe.lock.yaml"


def write_lockfile(root: Path, plan: Plan, path: Path | None = None) -> Path:
    """Write the lockfile from the evidence that is there, of a finished run as of a failed one."""
    files = RunFiles(root)
    lock = lock_section(files, plan)
    lock["integrity"] = integrity(lock)
    text = recipe_text(files.recipe, plan)
    path = path or root / LOCKFILE
    write_atomically(path, f"{text.rstrip()}\n\n{_yaml({'lock': lock})}")
    return path


def lock_section(files: RunFiles, plan: Plan) -> dict[str, Any]:
    """Everything below `lock:`, but its integrity."""
    allocation = read_json(files.allocation)
    return {
        "version": LOCK_VERSION,
        "generated_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "servesweep_version": __version__,
        "configuration": plan.configuration,
        "variant": plan.variant,
        "digest": plan.digest,
        "slurm": {
            "job_id": allocation.get("job_id"),
            "cluster": plan.cluster.cluster,
            "account": plan.slurm.slurm_account,
            "partition": plan.slurm.slurm_partition,
            "nodelist": ",".join(str(host.get("host")) for host in allocation.get("hosts", [])) or None,
            "num_nodes": plan.topology.total_nodes,
            "gpus_per_node": plan.topology.gpus_per_node,
        },
        "topology": plan.topology.model_dump(mode="json"),
        "resolved": {"model_path": plan.deployment.model_path, "log_dir": str(files.logs)},
        "settings": list(plan.settings),
        "notes": list(plan.notes),
        "resource_snapshot": read_json(files.logs / SNAPSHOT) or None,
        "fingerprints": read_fingerprints(files.logs),
        "failure": read_json(files.failure).get("message"),
        "results": {point.id: _result(files, plan, point.id) for point in plan.points},
    }


def _result(files: RunFiles, plan: Plan, point: str) -> dict[str, Any]:
    planned = next(p for p in plan.points if p.id == point)
    result = read_json(files.result(point))
    if result.get("valid") is True and result.get("digest") == planned.digest:
        metrics = result.get("metrics") or {}
        return {"status": "valid", **{name: metrics[name] for name in HEADLINE if name in metrics}}
    return {"status": "not valid", "reason": why_open(files, planned)}


def recipe_text(path: Path, plan: Plan) -> str:
    """The recipe file's own text without an older lock; the resolved recipe where the file is gone."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return _yaml(plan.resolved.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    if _is_flow(text):
        # `lock:` cannot stand behind a closing brace, as of JSON.
        data = parse(text, str(path)).data
        return _yaml({key: value for key, value in data.items() if key != "lock"})
    return re.sub(r"^lock:.*?(?=^\S|\Z)", "", text, flags=re.MULTILINE | re.DOTALL)


def _is_flow(text: str) -> bool:
    try:
        node = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return False
    return isinstance(node, yaml.MappingNode) and bool(node.flow_style)


def integrity(lock: dict[str, Any]) -> str:
    """SHA-256 over the section without its own integrity, in block style with sorted keys."""
    rest = {key: value for key, value in lock.items() if key != "integrity"}
    return hashlib.sha256(yaml.safe_dump(rest, sort_keys=True, default_flow_style=False).encode()).hexdigest()


def _yaml(data: dict[str, Any]) -> str:
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=False, allow_unicode=True)
