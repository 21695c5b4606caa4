"""What a run leaves behind: the record of a finished one, the first failure of another."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from servesweep.evidence.files import RunFiles, sentence, write_atomically
from servesweep.evidence.points import gate_is_open, open_points, read_json, why_open
from servesweep.plan.plan import Plan
from servesweep.runtime.failure import Failure, tail


def clear_earlier_attempt(files: RunFiles, plan: Plan) -> None:
    """Set the logs of an earlier attempt aside and forget its verdicts; finished points stay as they are."""
    for stale in (files.failure, files.health, files.unhealthy, files.run, files.clients):
        stale.unlink(missing_ok=True)
    for point in open_points(files, plan):
        # Else the reasons of an earlier attempt would be told as those of this one.
        if files.invalid(point.id).exists():
            files.invalid(point.id).replace(files.point(point.id) / "invalid.stale.json")
        (files.point(point.id) / "progress.json").unlink(missing_ok=True)
    if files.logs.is_dir() and any(files.logs.iterdir()):
        numbers = [path.suffix[1:] for path in files.root.glob("logs.*")]
        files.logs.rename(files.root / f"logs.{1 + max((int(n) for n in numbers if n.isdigit()), default=0)}")
    files.logs.mkdir(parents=True, exist_ok=True)
    # Snakemake removes run.log before the next attempt, and a second start of this job before it begins.
    with contextlib.suppress(OSError):
        (files.logs / "run.log").hardlink_to(files.root / "run.log")


def verdict(files: RunFiles, plan: Plan) -> Failure | None:
    """Judge by the files that the gate and the points have left; None when all is there."""
    if not gate_is_open(files):
        return gate_failure(files, "health_gate", read_json(files.unhealthy))
    missing = open_points(files, plan)
    if not missing:
        return None
    told = ", ".join(f"{point.id} ({why_open(files, point)})" for point in missing)
    log = f"logs/benchmark_{missing[0].id}.log"
    return Failure(
        stage="benchmark",
        message=f"{len(missing)} of {len(plan.points)} points not valid: {told}",
        log=log,
        tail=tail(files.root / log),
    )


def gate_failure(files: RunFiles, stage: str, why: Mapping[str, Any]) -> Failure:
    """The failure that the gate tells in unhealthy.json, with the log of the process that it is about."""
    log = why.get("log") or ("logs/health_gate.log" if why else "logs/allocation.log")
    return Failure(
        stage=stage,
        message=str(why.get("message") or "the health gate ended without a verdict"),
        step=why.get("step"),
        node=why.get("node"),
        log=log,
        tail=tail(files.root / log),
    )


def write_failure(files: RunFiles, plan: Plan, failure: Failure, say: Callable[[str], None]) -> None:
    """Write failure.json and tell it; a disk that refuses the file does not hide the failure."""
    record = {"schema": 1, "configuration": plan.configuration, "digest": plan.digest, **failure.model_dump()}
    say(f"FAILED in stage {failure.stage}: {failure.message}")
    if failure.log:
        say(f"log: {files.root / failure.log}")
    for line in failure.tail:
        say(f"  | {line}")
    try:
        write_atomically(files.failure, json.dumps(record, indent=1) + "\n")
    except OSError as error:
        say(sentence(error))


def last_result(files: RunFiles, plan: Plan) -> datetime:
    """When the last result was written: where an interrupted run had all of them, it did no more."""
    times = [files.result(point.id).stat().st_mtime for point in plan.points]
    return datetime.fromtimestamp(max(times), UTC)


def write_record(
    files: RunFiles, plan: Plan, allocation: dict[str, object], ended: datetime | None = None
) -> None:
    """Write run.json: the configuration is complete, now or since it has `ended`."""
    for stale in (files.failure, files.unhealthy):
        stale.unlink(missing_ok=True)
    record = {
        "schema": 1,
        "configuration": plan.configuration,
        "digest": plan.digest,
        "launcher": plan.launcher,
        "job_id": allocation.get("job_id"),
        "nodes": allocation.get("hosts", []),
        "started_at": allocation.get("started_at"),
        "finished_at": (ended or datetime.now(UTC)).isoformat(timespec="seconds"),
        "points": [point.id for point in plan.points],
    }
    write_atomically(files.run, json.dumps(record, indent=1) + "\n")
