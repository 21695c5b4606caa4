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

from servesweep.loadgen.foreign import foreign_result, write_foreign


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns 0 for a valid point, else 1."""
    parser = argparse.ArgumentParser(prog="python3 -m servesweep.loadgen.custom")
    parser.add_argument("about", type=Path, help="JSON with configuration, point, digest, model and command")
    parser.add_argument("--output", type=Path, required=True, help="where a valid result is written")
    options = parser.parse_args(arguments)
    about = json.loads(options.about.read_text())
    result = run_command(about, options.output.with_name("metrics.json"))
    return write_foreign(result, options.output, "custom")


def run_command(about: dict[str, Any], metrics_file: Path) -> dict[str, Any]:
    """Run the command in bash and describe how it went."""
    metrics_file.unlink(missing_ok=True)
    began, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    env = {**os.environ, "SERVESWEEP_METRICS": str(metrics_file)}
    code = subprocess.run(["bash", "-c", about["command"]], env=env, check=False).returncode
    metrics, reasons = read_metrics(metrics_file)
    if code:
        reasons.insert(0, f"the command ended with code {code}")
    return foreign_result(
        about,
        reasons=reasons,
        load={"command": about["command"]},
        started_at=started,
        duration_s=time.monotonic() - began,
        metrics=metrics,
    )


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
