"""`snakemake --report` embeds the tables that lie there, which must tell of the sweep that is asked for."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from pathlib import Path

from servesweep.plan.row import Row
from servesweep.plan.table import RESULTS

KEYS = ("configuration", "point", "digest")


def refuse_other_tables(plans: Mapping[str, Row]) -> None:
    """End with a sentence where the table is of another selection, or of what the recipes were before."""
    path = RESULTS / "summary.csv"
    if difference := difference_of(path, plans):
        print(f"{path}: {difference}; `snakemake report` writes it anew", file=sys.stderr)
        sys.exit(1)


def difference_of(path: Path, plans: Mapping[str, Row]) -> str | None:
    """What a table tells that these plans do not, in one clause; all else is written together with it."""
    with path.open(newline="") as text:
        told = {tuple(row.get(key) for key in KEYS) for row in csv.DictReader(text)}
    planned = {
        (plan.configuration, point.id, point.digest) for plan in plans.values() for point in plan.points
    }
    names = {str(configuration) for configuration, _, _ in told}
    if other := sorted(names - set(plans)):
        return f"it tells of {other[0]}, which is not in this sweep"
    if missing := sorted(set(plans) - names):
        return f"it does not tell of {missing[0]}, which is in this sweep"
    if changed := sorted(planned - told):
        return f"it tells of {changed[0][0]} as it was before its recipe changed"
    return None
