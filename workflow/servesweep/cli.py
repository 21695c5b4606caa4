"""The command line: every step of the workflow, alone in a terminal."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Literal

import click

from servesweep import __version__
from servesweep.compare.command import compare
from servesweep.evidence.command import check, diff
from servesweep.evidence.files import RunFiles, keep_plan, sentence, write_atomically
from servesweep.plan.migrate_command import migrate
from servesweep.report.command import export
from servesweep.status.command import status

NO_PREFLIGHT = "Look for no model, image or program on this machine: the plan is for another."


class _Sentences(click.Group):
    """Commands whose trouble with the disk is told in one sentence, as every other mistake."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # `servesweep plan … | head`: click ends without a word
        except OSError as error:
            raise _Fault(sentence(error)) from None


@click.group(cls=_Sentences, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Benchmark sweeps of LLM serving on Slurm."""


@main.command()
@click.argument("recipes", nargs=-1, required=True)
@click.option("--cluster", "cluster_file", help="Cluster file; default: what config/config.yaml names.")
@click.option("--set", "settings", multiple=True, help="Change one value, such as roles.decode.workers=4.")
@click.option("--no-preflight", is_flag=True, help=NO_PREFLIGHT)
@click.option(
    "--results", type=click.Path(path_type=Path), default=Path("results"), help="Where plans are written."
)
@click.option(
    "--record", type=click.Path(path_type=Path), help="File that notes the validated configurations."
)
def validate(
    recipes: tuple[str, ...],
    cluster_file: str | None,
    settings: tuple[str, ...],
    no_preflight: bool,
    results: Path,
    record: Path | None,
) -> None:
    """Check recipes and write the plan of every configuration."""
    from servesweep.plan.default_cluster import CONFIG, default_cluster
    from servesweep.plan.plan import plan_text
    from servesweep.plan.secrets import sources
    from servesweep.plan.table import validated
    from servesweep.recipe.problems import RecipeError

    try:
        cluster_file = cluster_file or default_cluster()
        if cluster_file is None:
            raise _Fault(f"no cluster file is named: say --cluster FILE; {CONFIG} names none here")
        plans = validated(list(recipes), cluster_file, list(settings), look=not no_preflight)
    except RecipeError as error:
        raise _Fault(str(error)) from None
    for path, plan in plans:
        found = sources(plan, path, cluster_file)
        keep_plan(RunFiles(results / plan.configuration), plan_text(plan), path, found)
        for note in plan.notes:
            click.echo(f"{plan.configuration}: {note}")
    if record:
        text = json.dumps(
            {"schema": 1, "configurations": {p.configuration: p.digest for _, p in plans}}, indent=1
        )
        write_atomically(record, text + "\n")
    click.echo(f"{len(plans)} configuration{'s are' if len(plans) != 1 else ' is'} valid")


@main.command()
@click.argument("words", nargs=-1, metavar="[RECIPE...|RESULTS]")
@click.option(
    "--cluster",
    "cluster_file",
    help="Cluster file; default: what config/config.yaml names, and without one built-in values.",
)
@click.option("--set", "settings", multiple=True, help="Change one value, such as roles.decode.workers=4.")
@click.option("--no-preflight", is_flag=True, help=NO_PREFLIGHT)
@click.option("--json", "as_json", is_flag=True, help="One object a line, with keys that stay.")
@click.option("--brief", is_flag=True, help="Node maps and warnings alone.")
@click.option(
    "--sweep", type=click.Path(path_type=Path), help="Only the configurations that this file lists."
)
def plan(
    words: tuple[str, ...],
    cluster_file: str | None,
    settings: tuple[str, ...],
    no_preflight: bool,
    as_json: bool,
    brief: bool,
    sweep: Path | None,
) -> None:
    """Print node maps, ports, commands and Slurm requests, of recipes or of validated configurations.

    Exits with 1 where validation would refuse one of them; its page says why.
    """
    from servesweep.plan.plan_command import Form, is_results, plan_files, refusal_lines, told
    from servesweep.plan.plan_page import summary_line
    from servesweep.recipe.problems import Problem, RecipeError

    problems: list[Problem] = []
    if is_results(words) or sweep:
        results = Path(words[0] if words else "results")
        plans = [_plan(results / name) for name in _configurations(results, sweep)]
    else:
        try:
            plans, problems = plan_files(words, cluster_file, settings)
        except RecipeError as error:
            raise _Fault(str(error)) from None
    if not plans and not problems:
        raise _Fault("there is no plan here: name recipe files, or run `snakemake plan` first")
    form: Form = "object" if as_json else "brief" if brief else "page"
    refused = []
    for plan in plans:
        page = told(plan, form, look=not no_preflight)
        refused.append(page.refused)
        click.echo(page.text)
    if plans and not as_json:
        click.echo(summary_line(plans))
    for line in [*refusal_lines(refused), *map(str, problems)]:
        click.echo(line, err=True)
    if problems or any(refused):
        sys.exit(1)


@main.command()
@click.option("--cluster", "of_cluster", is_flag=True, help="Of the cluster file instead of recipes.")
@click.option("--page", is_flag=True, help="A page for people: every key, its default, what it means.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
def schema(of_cluster: bool, page: bool, output: Path | None) -> None:
    """Print the JSON Schema of recipes, by which editors complete and check them."""
    from servesweep.plan.json_schema import cluster_schema, recipe_schema
    from servesweep.plan.reference_page import reference_page

    described = cluster_schema() if of_cluster else recipe_schema()
    text = reference_page() if page else json.dumps(described, indent=1) + "\n"
    if output:
        write_atomically(output, text)
    else:
        click.echo(text, nl=False)


@main.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--launcher", type=click.Choice(["local", "slurm"]), required=True, help="How processes are started."
)
@click.option("--log", type=click.Path(path_type=Path), help="File that gets the story of the run too.")
def run(directory: Path, launcher: Literal["local", "slurm"], log: Path | None) -> None:
    """Run one configuration, results/<configuration>, inside the allocation around this process."""
    from servesweep.plan.plan import PlanError
    from servesweep.runtime.executor_answers import restore_slurm_conf
    from servesweep.runtime.run import run_configuration
    from servesweep.runtime.story import Story

    restore_slurm_conf()
    with Story(directory.name, log) as story:
        try:
            code = run_configuration(directory, launcher, story)
        except PlanError as error:
            story(str(error))
            code = 1
    sys.exit(code)


@main.command("health-gate")
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
def health_gate(directory: Path) -> None:
    """Wait until the running deployment is healthy, and write health.json."""
    from servesweep.runtime.health_gate import Gate, UnhealthyError, verdict_record

    files = RunFiles(directory.resolve())
    deployment, allocation = _deployment(files)
    hosts = {host.name: host.host for host in allocation.hosts}
    try:
        verdict = asyncio.run(Gate(deployment, files.logs, hosts, click.echo).open())
    except UnhealthyError as error:
        write_atomically(files.unhealthy, json.dumps(error.record(), indent=1) + "\n")
        raise _Fault(str(error)) from None
    write_atomically(files.health, json.dumps(verdict_record(deployment, verdict), indent=1) + "\n")


@main.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--point", required=True, help="Which load level.")
def benchmark(directory: Path, point: str) -> None:
    """Measure one point of the running deployment."""
    from servesweep.runtime.measuring import NoSuchPointError, become_client, client_words
    from servesweep.runtime.secrets import MissingSecretError

    files = RunFiles(directory.resolve())
    deployment, allocation = _deployment(files)
    try:
        words = client_words(files, deployment, allocation, point)
    except (NoSuchPointError, MissingSecretError) as error:
        raise _Fault(str(error)) from None
    become_client(words, Path(allocation.project))


@main.command()
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--wait", type=float, help="Of a finished run: seconds until its results must be seen here.")
def lockfile(directory: Path, wait: float | None) -> None:
    """Write recipe.lock.yaml from the evidence of a configuration."""
    from servesweep.evidence.lockfile import write_lockfile
    from servesweep.evidence.points import wait_for_points

    plan = _plan(directory)
    if wait is not None and (unseen := wait_for_points(RunFiles(directory), plan, wait)):
        raise _Fault(
            f"{directory}: the run is finished, and after {wait:g} s this machine sees no valid result of "
            f"{', '.join(unseen)}: a slow file system? The next `snakemake` looks again"
        )
    click.echo(write_lockfile(directory, plan))


@main.command()
@click.argument("results", type=click.Path(path_type=Path), default=Path("results"))
@click.option(
    "--sweep", type=click.Path(path_type=Path), help="Only the configurations that this file lists."
)
@click.option(
    "--snakemake-log", type=click.Path(path_type=Path), help="Log in which to look for refused submissions."
)
@click.option(
    "--cluster",
    "cluster_file",
    help="Cluster file whose gpu_hour_price counts; default: as it was planned with.",
)
def report(results: Path, sweep: Path | None, snakemake_log: Path | None, cluster_file: str | None) -> None:
    """Write tables, plots and report from whatever is there, and print the table."""
    from servesweep.evidence.submission import record_submission_failures
    from servesweep.report.terminal import summary_table
    from servesweep.report.write import write_report

    if snakemake_log:
        record_submission_failures(snakemake_log)
    only = _configurations(results, sweep)
    write_report(results, only, prices=_gpu_hour_price(cluster_file) if cluster_file else None)
    click.echo(summary_table(results, only))
    click.echo(f"report: {results / 'report.html'}")


main.add_command(check)
main.add_command(compare)
main.add_command(diff)
main.add_command(export)
main.add_command(migrate)
main.add_command(status)


class _Fault(click.ClickException):
    """A user's mistake: its sentences, nothing else, and exit code 1."""

    def show(self, file: object = None) -> None:
        click.echo(self.message, err=True)


def _gpu_hour_price(cluster_file: str) -> dict[str, float]:
    from servesweep.plan.sweep import read_cluster
    from servesweep.recipe.problems import RecipeError

    try:
        return read_cluster(cluster_file).gpu_hour_price
    except RecipeError as error:
        raise _Fault(str(error)) from None


def _configurations(results: Path, sweep: Path | None) -> list[str]:
    from servesweep.evidence.points import read_json

    if sweep is not None:
        listed = read_json(sweep).get("configurations")
        if not isinstance(listed, list):
            raise _Fault(f"{sweep}: no list of configurations; a run of snakemake writes it")
        return [str(name) for name in listed]
    return sorted(path.parent.name for path in results.glob("*/plan.json"))


def _plan(directory: Path):  # type: ignore[no-untyped-def]
    from servesweep.plan.plan import PlanError, read_plan

    try:
        return read_plan(RunFiles(directory).plan)
    except PlanError as error:
        raise _Fault(str(error)) from None


def _deployment(files: RunFiles):  # type: ignore[no-untyped-def]
    from pydantic import ValidationError

    from servesweep.plan.plan import PlanError, read_plan
    from servesweep.runtime.allocation import Allocation

    try:
        return read_plan(files.deployment), Allocation.model_validate_json(files.allocation.read_bytes())
    except (PlanError, OSError, ValidationError):
        raise _Fault(f"{files.root}: nothing runs here; `servesweep run` starts it") from None


if __name__ == "__main__":
    main()
