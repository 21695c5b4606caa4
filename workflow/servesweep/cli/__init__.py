"""The command line: every step of the workflow, alone in a terminal."""

from __future__ import annotations

import click

from servesweep import __version__
from servesweep.cli.faults import CommandFault
from servesweep.cli.planning import plan, schema, validate
from servesweep.cli.results import lockfile, report
from servesweep.cli.running import benchmark, health_gate, run
from servesweep.compare.command import compare
from servesweep.evidence.command import check, diff
from servesweep.evidence.files import sentence
from servesweep.plan.migrate_command import migrate
from servesweep.report.command import export
from servesweep.status.command import status


class _Sentences(click.Group):
    """Commands whose trouble with the disk is told in one sentence, as every other mistake."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # `servesweep plan … | head`: click ends without a word
        except OSError as error:
            raise CommandFault(sentence(error)) from None


@click.group(cls=_Sentences, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Benchmark sweeps of LLM serving on Slurm."""


for command in (
    validate,
    plan,
    schema,
    migrate,
    run,
    health_gate,
    benchmark,
    lockfile,
    report,
    status,
    check,
    diff,
    compare,
    export,
):
    main.add_command(command)
