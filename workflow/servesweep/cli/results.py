"""Commands over what runs have left: lockfile, report."""

from __future__ import annotations

from pathlib import Path

import click

from servesweep.cli.faults import CommandFault, configurations_of, plan_of
from servesweep.evidence.files import RunFiles


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--wait", type=float, help="Of a finished run: seconds until its results must be seen here.")
def lockfile(directory: Path, wait: float | None) -> None:
    """Write recipe.lock.yaml from the evidence of a configuration."""
    from servesweep.evidence.lockfile import write_lockfile
    from servesweep.evidence.points import wait_for_points

    plan = plan_of(directory)
    if wait is not None and (unseen := wait_for_points(RunFiles(directory), plan, wait)):
        raise CommandFault(
            f"{directory}: the run is finished, and after {wait:g} s this machine sees no valid result of "
            f"{', '.join(unseen)}: a slow file system? The next `snakemake` looks again"
        )
    click.echo(write_lockfile(directory, plan))


@click.command()
@click.argument("results", type=click.Path(path_type=Path), default=Path("results"))
@click.option(
    "--sweep", type=click.Path(path_type=Path), help="Only the configurations that this file lists."
)
@click.option(
    "--cluster",
    "cluster_file",
    help="Cluster file whose gpu_hour_price counts; default: as it was planned with.",
)
def report(results: Path, sweep: Path | None, cluster_file: str | None) -> None:
    """Write tables, plots and report from whatever is there, and print the table."""
    from servesweep.report.terminal import summary_table
    from servesweep.report.write import write_report

    only = configurations_of(results, sweep)
    written = write_report(results, only, prices=_gpu_hour_price(cluster_file) if cluster_file else None)
    for line in written.unwritten:
        click.echo(line, err=True)
    click.echo(summary_table(results, only))
    click.echo(f"report: {results / 'report.html'}")


def _gpu_hour_price(cluster_file: str) -> dict[str, float]:
    from servesweep.plan.cluster_file import read_cluster
    from servesweep.recipe.problems import RecipeError

    try:
        return read_cluster(cluster_file).gpu_hour_price
    except RecipeError as error:
        raise CommandFault(str(error)) from None
