"""`servesweep diff` and `servesweep check`: two runs side by side, and a run beside this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from servesweep.evidence.differences import ABSENT, Difference


@click.command()
@click.argument("before", type=click.Path(path_type=Path, exists=True))
@click.argument("after", type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="One object: part, then key, before and after.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 where anything differs.")
def diff(before: Path, after: Path, as_json: bool, exit_code: bool) -> None:
    """Tell what differs between two runs, key by key: recipe, plan, Slurm, machine and software.

    BEFORE and AFTER are lockfiles, directories of configurations, directories of logs, or single
    fingerprints. What names the place alone (host, GPU's uuid, time) is no difference.
    """
    from servesweep.evidence.kept import NoEvidenceError, compared, evidence_of

    try:
        sides = evidence_of(before), evidence_of(after)
    except NoEvidenceError as error:
        raise click.ClickException(str(error)) from None
    for side in sides:
        if side.warning:
            click.echo(side.warning, err=True)
    parts = list(compared(*sides))
    if as_json:
        click.echo(json.dumps({part: list(map(_object, found)) for part, found in parts}, indent=1))
    else:
        for part, found in parts:
            _tell(part, found)
    if exit_code and any(found for _, found in parts):
        sys.exit(1)


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="One object: worker, then key, before and after.")
def check(path: Path, as_json: bool) -> None:
    """Compare this machine and environment with those of a run; exits with 1 where anything differs.

    PATH is a lockfile, the directory of a configuration, a directory of logs, or one fingerprint.
    """
    from servesweep.evidence.environment_check import here_and_there
    from servesweep.evidence.kept import NoEvidenceError, evidence_of

    try:
        kept = evidence_of(path)
    except NoEvidenceError as error:
        raise click.ClickException(str(error)) from None
    if not kept.fingerprints:
        raise click.ClickException(f"{path}: no worker has left a fingerprint there")
    if kept.warning:
        click.echo(kept.warning, err=True)
    parts = list(here_and_there(kept.fingerprints))
    if as_json:
        click.echo(json.dumps({part: list(map(_object, found)) for part, found in parts}, indent=1))
    else:
        for part, found in parts:
            _tell(part, found)
    if kept.warning or any(found for _, found in parts):
        sys.exit(1)


def _tell(part: str, found: list[Difference]) -> None:
    click.echo(f"{part}:" if found else f"{part}: the same")
    for difference in found:
        click.echo(f"  {difference}")


def _object(difference: Difference) -> dict[str, Any]:
    sides = {"before": difference.before, "after": difference.after}
    return {"key": difference.key, **{name: value for name, value in sides.items() if value is not ABSENT}}
