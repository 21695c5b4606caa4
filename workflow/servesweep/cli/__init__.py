"""The command line: every step of the workflow, alone in a terminal."""

from __future__ import annotations

import atexit
import gc
from importlib import import_module

import click

from servesweep import __version__
from servesweep.cli.faults import CommandFault
from servesweep.evidence.files import sentence

# Command to its module, which is loaded when the command is: a run starts some of them at each of its points.
COMMANDS = {
    "validate": "servesweep.cli.planning",
    "plan": "servesweep.cli.planning",
    "schema": "servesweep.cli.planning",
    "migrate": "servesweep.plan.migrate_command",
    "run": "servesweep.cli.running",
    "health-gate": "servesweep.cli.running",
    "benchmark": "servesweep.cli.running",
    "lockfile": "servesweep.cli.results",
    "report": "servesweep.cli.results",
    "status": "servesweep.status.command",
    "check": "servesweep.evidence.command",
    "diff": "servesweep.evidence.command",
    "compare": "servesweep.compare.command",
    "export": "servesweep.report.command",
}


class _Commands(click.Group):
    """Commands whose trouble with the disk is told in one sentence, as every other mistake."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[name]), name.replace("-", "_"))
        return command

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # `servesweep plan … | head`: click ends without a word
        except OSError as error:
            raise CommandFault(sentence(error)) from None


# A run starts many commands. What modules make when they are loaded stays, and Python would look through it
# for garbage a hundred times on the way, and once more at the end: a fifth of the time of a small command.
gc.set_threshold(50_000)
atexit.register(gc.freeze)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Benchmark sweeps of LLM serving on Slurm."""
