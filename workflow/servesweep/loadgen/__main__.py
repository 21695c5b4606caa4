"""`python3 -m servesweep.loadgen SPEC.json --output DIR/result.json`: measure one point.

Exit code 0: the result is written; 1: the point does not count or could not be measured, with one sentence on
standard error; 2: the spec or the arguments are wrong; 130 and 143: interrupted, nothing written.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from pydantic import ValidationError

from servesweep.loadgen.errors import LoadgenError
from servesweep.loadgen.measure import measure
from servesweep.loadgen.spec import LoadSpec


def read_spec(source: str) -> LoadSpec:
    """Read a spec from a file, or standard input for `-`; raises LoadgenError naming each wrong field."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LoadgenError(f"cannot read the spec {source}: {error}") from error
    try:
        return LoadSpec.model_validate_json(text)
    except ValidationError as error:
        problems = [
            f"{'.'.join(str(part) for part in problem['loc']) or 'spec'}: {problem['msg']}"
            for problem in error.errors()
        ]
        raise LoadgenError(f"the spec {source} is wrong: {'; '.join(problems)}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python3 -m servesweep.loadgen", description="Measure one load level."
    )
    parser.add_argument("spec", help="JSON file with the load, or - for standard input")
    parser.add_argument("--output", type=Path, required=True, help="where a valid result is written")
    options = parser.parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    try:
        spec = read_spec(options.spec)
    except LoadgenError as error:
        print(f"loadgen: {error}", file=sys.stderr)
        return 2
    try:
        result = measure(spec, options.output)
    except LoadgenError as error:
        print(f"loadgen: {spec.point}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(
            f"loadgen: {spec.point}: {error.filename or 'file'}: {error.strerror or error}", file=sys.stderr
        )
        return 1
    if not result.valid:
        print(f"loadgen: {spec.point} does not count: {'; '.join(result.reasons)}.", file=sys.stderr)
        return 1
    return 0


def _stop(number: int, frame: FrameType | None) -> None:
    """Unwind once, so that everything is cleaned up; a second signal must not cut the cleaning short."""
    for other in (signal.SIGTERM, signal.SIGINT):
        signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    # Between two points the nodes wait, and Python would look through all that is loaded once more.
    atexit.register(gc.freeze)
    sys.exit(main())
