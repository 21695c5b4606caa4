"""Commands before anything runs: validate, plan, schema."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from servesweep.cli.faults import CommandFault, configurations_of, plan_of
from servesweep.evidence.files import RunFiles, keep_plan, write_atomically

NO_PREFLIGHT = "Look for no model, image or program on this machine: the plan is for another."


@click.command()
@click.argument("recipes", nargs=-1, required=True)
@click.option("--cluster", "cluster_file", help="Cluster file; default: what config/config.yaml names.")
@click.option("--set", "settings", multiple=True, help="Change one value, such as roles.decode.workers=4.")
@click.option("--no-preflight", is_flag=True, help=NO_PREFLIGHT)
@click.option("--results", type=click.Path(path_type=Path), help="Write the plans to this directory.")
@click.option(
    "--record", type=click.Path(path_type=Path), help="File that notes the validated configurations."
)
def validate(
    recipes: tuple[str, ...],
    cluster_file: str | None,
    settings: tuple[str, ...],
    no_preflight: bool,
    results: Path | None,
    record: Path | None,
) -> None:
    """Check recipes, and write the plan of every configuration where --results names a directory."""
    from servesweep.plan.default_cluster import CONFIG, default_cluster
    from servesweep.plan.plan import plan_text
    from servesweep.plan.secrets import sources
    from servesweep.plan.sweep_table import validated
    from servesweep.recipe.problems import RecipeError

    try:
        cluster_file = cluster_file or default_cluster()
        if cluster_file is None:
            raise CommandFault(f"no cluster file is named: say --cluster FILE; {CONFIG} names none here")
        plans = validated(list(recipes), cluster_file, list(settings), look=not no_preflight)
    except RecipeError as error:
        raise CommandFault(str(error)) from None
    for path, plan in plans:
        if results is not None:
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


@click.command()
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
        plans = [plan_of(results / name) for name in configurations_of(results, sweep)]
    else:
        try:
            plans, problems = plan_files(words, cluster_file, settings)
        except RecipeError as error:
            raise CommandFault(str(error)) from None
    if not plans and not problems:
        raise CommandFault("there is no plan here: name recipe files, or run `snakemake plan` first")
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


@click.command()
@click.option("--cluster", "of_cluster", is_flag=True, help="Of the cluster file instead of recipes.")
@click.option("--page", is_flag=True, help="A page for people: every key, its default, what it means.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Write to this file; - is standard output.",
)
def schema(of_cluster: bool, page: bool, output: Path | None) -> None:
    """Print the JSON Schema of recipes, by which editors complete and check them."""
    from servesweep.plan.json_schema import cluster_schema, recipe_schema
    from servesweep.plan.reference_page import reference_page
    from servesweep.report.atomic import write_output

    described = cluster_schema() if of_cluster else recipe_schema()
    text = reference_page() if page else json.dumps(described, indent=1) + "\n"
    if output and str(output) != "-":
        output.parent.mkdir(parents=True, exist_ok=True)
    write_output(output, text.encode())
