"""Commands inside an allocation: run, health-gate, benchmark."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from servesweep.cli.faults import CommandFault, running_deployment
from servesweep.evidence.files import RunFiles, write_atomically

if TYPE_CHECKING:
    from servesweep.runtime.health_gate import Gate
    from servesweep.runtime.preloading import Preloaded


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--launcher", type=click.Choice(["local", "slurm"]), required=True, help="How processes are started."
)
@click.option("--log", type=click.Path(path_type=Path), help="File that gets the story of the run too.")
def run(directory: Path, launcher: Literal["local", "slurm"], log: Path | None) -> None:
    """Run one configuration, results/<configuration>, inside the allocation around this process."""
    from servesweep.runtime.preloading import Preloaded

    # Before what takes long to load here: a node has more than one core.
    with Preloaded() as snakemake:
        code = _run(directory, launcher, log, snakemake)
    sys.exit(code)


def _run(directory: Path, launcher: Literal["local", "slurm"], log: Path | None, snakemake: Preloaded) -> int:
    from servesweep.plan.row import PlanError
    from servesweep.runtime.executor_answers import restore_slurm_conf
    from servesweep.runtime.run import run_configuration
    from servesweep.runtime.story import Story

    restore_slurm_conf()
    with Story(directory.name, log) as story:
        try:
            return run_configuration(directory, launcher, story, snakemake)
        except PlanError as error:
            story(str(error))
            return 1


@click.command("health-gate")
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--after-start", is_flag=True, help="Begin when the run has started everything.")
def health_gate(directory: Path, after_start: bool) -> None:
    """Wait until the running deployment is healthy, and write health.json."""
    import asyncio

    from servesweep.runtime.blot import Blot
    from servesweep.runtime.blotted_files import blotted_json
    from servesweep.runtime.health_gate import Gate, verdict_record
    from servesweep.runtime.secrets import handed
    from servesweep.runtime.unhealthy import UnhealthyError

    blot = Blot.of(handed())

    def write(path: Path, record: dict[str, Any]) -> None:
        # A server's answer may repeat what it was sent.
        text = json.dumps(record, indent=1) + "\n"
        write_atomically(path, blotted_json(text.encode(), blot.distinct()))

    files = RunFiles(directory.resolve())
    deployment, allocation = running_deployment(files)
    hosts = {host.name: host.host for host in allocation.hosts}
    gate = Gate(deployment, files.logs, hosts, lambda line: click.echo(blot(line)))
    try:
        verdict = asyncio.run(_passed(gate, files if after_start else None))
    except UnhealthyError as error:
        write(files.unhealthy, error.record())
        raise CommandFault(blot(str(error))) from None
    write(files.health, verdict_record(deployment, verdict))


async def _passed(gate: Gate, starting: RunFiles | None) -> dict[str, Any]:
    from servesweep.runtime.health_gate import until_started

    if starting is not None:
        await until_started(starting)
    return await gate.open()


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--point", required=True, help="Which load level.")
def benchmark(directory: Path, point: str) -> None:
    """Measure one point of the running deployment."""
    from servesweep.runtime.client_start import become_client, kept_client

    files = RunFiles(directory.resolve())
    become_client(*(kept_client(files, point) or _client(files, point)))


def _client(files: RunFiles, point: str) -> tuple[list[str], Path]:
    from servesweep.runtime.measuring import NoSuchPointError, client_words
    from servesweep.runtime.secrets import MissingSecretError

    deployment, allocation = running_deployment(files)
    try:
        return client_words(files, deployment, allocation, point), Path(allocation.project)
    except (NoSuchPointError, MissingSecretError) as error:
        raise CommandFault(str(error)) from None
