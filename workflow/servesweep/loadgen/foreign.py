"""Points that another program measures: how it is run, and the form of its result."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from servesweep.loadgen.files import write_atomically

NAMES = ("configuration", "point", "digest", "model")
TAIL_LINES = 200
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its code, its last lines, when it began and how long it ran."""

    code: int
    tail: list[str]
    started_at: str
    duration_s: float


def run_to_the_end(
    words: Sequence[str], env: Mapping[str, str] | None = None, directory: Path | None = None
) -> Ended:
    """Run a program, show its output as it comes and keep its last lines, without colours."""
    began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="milliseconds")
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    with subprocess.Popen(
        words,
        env={**os.environ, **(env or {})},
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            tail.append(COLOURS.sub("", line.rstrip()))
    return Ended(process.returncode, list(tail), started, time.monotonic() - began)


def foreign_result(
    about: Mapping[str, Any],
    *,
    reasons: Sequence[str],
    load: Mapping[str, Any],
    started_at: str,
    duration_s: float,
    metrics: Mapping[str, float | None],
    **more: Any,
) -> dict[str, Any]:
    """The record of a point in the form of `result.PointResult`, with what the other program tells of it."""
    return {
        "schema": 1,
        **{key: about[key] for key in NAMES},
        "valid": not reasons,
        "reasons": list(reasons),
        "notes": [],
        "load": dict(load),
        "models_answered": [],
        "started_at": started_at,
        "duration_s": round(duration_s, 3),
        "requests": {},
        "tokens": {},
        "metrics": dict(metrics),
        "client": {},
        **more,
    }


def write_foreign(result: Mapping[str, Any], output: Path, program: str) -> int:
    """Write the record as a valid or an invalid one; returns the exit code, 0 for a valid point."""
    invalid = output.with_name("invalid.json")
    write_atomically(output if result["valid"] else invalid, json.dumps(result, indent=1) + "\n")
    if result["valid"]:
        invalid.unlink(missing_ok=True)
        return 0
    told = f"{program}: {result['point']} does not count: {'; '.join(result['reasons'])}."
    print(told, file=sys.stderr)
    return 1
