"""Command line of the simulator; every field of SimulatorOptions is an option of the same name."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence

from pydantic import ValidationError

from servesweep.simulator.faults import FAULT_FORMS, parse_faults
from servesweep.simulator.options import SimulatorOptions
from servesweep.simulator.precise_loop import precise_event_loop
from servesweep.simulator.server import serve

_ALIASES = {"model_name": ["--served-model-name"]}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python3 -m servesweep.simulator",
        description="An OpenAI-compatible streaming server with exact, configurable timing and no model.",
        allow_abbrev=False,
    )
    for name, field in SimulatorOptions.model_fields.items():
        if name == "faults":
            continue
        default = field.default if not field.is_required() and field.default is not None else None
        parser.add_argument(
            "--" + name.replace("_", "-"),
            *_ALIASES.get(name, []),
            dest=name,
            required=field.is_required(),
            default=argparse.SUPPRESS,
            help=(field.description or "") + (f" (default {default})" if default is not None else ""),
        )
    parser.add_argument(
        "--fault", action="append", default=[], metavar="KIND[:ARG]", help=f"one of {', '.join(FAULT_FORMS)}"
    )
    return parser


def parse_command_line(argv: Sequence[str]) -> SimulatorOptions:
    """Read the command line; what is wrong about it is told on stderr in one sentence, with exit code 2."""
    parser = _parser()
    given = vars(parser.parse_args(argv))
    try:
        faults = parse_faults(given.pop("fault"))
        options = SimulatorOptions(**given, faults=faults)
    except ValidationError as error:
        first = error.errors()[0]
        flag = "--" + str(first["loc"][0]).replace("_", "-")
        parser.error(f"{flag} {first['input']}: {first['msg']}.")
    except ValueError as error:
        parser.error(str(error))
    if options.bootstrap_port is not None and options.mode != "prefill":
        parser.error("--bootstrap-port belongs to a prefill worker: give --mode prefill or leave it out.")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Run a simulator until it is told to stop; give its exit code."""
    options = parse_command_line(sys.argv[1:] if argv is None else argv)
    if options.faults.crash_at_start is not None:
        print("simulator: told to crash at start.", file=sys.stderr, flush=True)
        return options.faults.crash_at_start
    try:
        with asyncio.Runner(loop_factory=precise_event_loop) as runner:
            runner.run(serve(options))
    except (OSError, ValueError) as error:
        print(f"simulator: {error}", file=sys.stderr, flush=True)
        return 1
    return 0
