"""`python3 -m servesweep.loadgen.custom ABOUT.json --output DIR/result.json`: run a command as one point.

The point is valid when the command ends with 0. A JSON object of numbers that the command leaves in the file
named by SERVESWEEP_METRICS becomes the point's metrics.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from servesweep.loadgen.files import write_atomically


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns 0 for a valid point, else 1."""
    parser = argparse.ArgumentParser(prog="python3 -m servesweep.loadgen.custom")
    parser.add_argument("about", type=Path, help="JSON with configuration, point, digest, model and command")
    parser.add_argument("--output", type=Path, required=True, help="where a valid result is written")
    options = parser.parse_args(arguments)
    about = json.loads(options.about.read_text())
    result = run_command(about, options.output.with_name("metrics.json"))
    path = options.output if result["valid"] else options.output.with_name("invalid.json")
    write_atomically(path, json.dumps(result, indent=1) + "\n")
    if result["valid"]:
        options.output.with_name("invalid.json").unlink(missing_ok=True)
        return 0
    print(f"custom: {about['point']} does not count: {'; '.join(result['reasons'])}.", file=sys.stderr)
    return 1


def run_command(about: dict[str, Any], metrics_file: Path) -> dict[str, Any]:
    """Run the command in bash and describe how it went."""
    metrics_file.unlink(missing_ok=True)
    began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    env = {**os.environ, "SERVESWEEP_METRICS": str(metrics_file)}
    code = subprocess.run(["bash", "-c", about["command"]], env=env, check=False).returncode
    metrics, reasons = read_metrics(metrics_file)
    if code:
        reasons.insert(0, f"the command ended with code {code}")
    return {
        "schema": 1,
        **{key: about[key] for key in ("configuration", "point", "digest", "model")},
        "valid": not reasons,
        "reasons": reasons,
        "notes": [],
        "load": {"command": about["command"]},
        "models_answered": [],
        "started_at": started,
        "duration_s": round(time.monotonic() - began, 3),
        "requests": {},
        "tokens": {},
        "metrics": metrics,
        "client": {},
    }


def read_metrics(path: Path) -> tuple[dict[str, float], list[str]]:
    """The command's own numbers, and what is wrong with them."""
    if not path.exists():
        return {}, []
    try:
        data = json.loads(path.read_bytes())
    except ValueError as error:
        return {}, [f"{path.name} is not JSON: {error}"]
    if not isinstance(data, dict):
        return {}, [f"{path.name} is not a JSON object"]
    numbers = {k: v for k, v in data.items() if _is_number(v)}
    wrong = sorted(set(data) - set(numbers))
    return numbers, [f"{path.name}: {key} is not a finite number" for key in wrong]


def _is_number(value: Any) -> bool:
    """Whether a value is a finite number; an integer may be too large for one."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


if __name__ == "__main__":
    sys.exit(main())
