"""The cluster file, or every problem of it at once."""

from __future__ import annotations

from servesweep.plan.site_rules import site_problems
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError
from servesweep.recipe.secrets import hidden
from servesweep.recipe.source import load
from servesweep.recipe.validation import read_section
from servesweep.recipe.variants import Variant


def read_cluster(path: str, secrets: bool = False) -> Cluster:
    """Read the cluster file, without the values of its secrets if these are not asked for.

    Raises:
        RecipeError: where it is missing or has a fault; an unknown key is one.
    """
    document = load(path)
    data = document.data if secrets else hidden(document.data)
    variant = Variant(suffix=None, data=data, lines=document.lines, notes=(), path=document.path)
    cluster = read_section(Cluster, data, variant, ())
    if problems := site_problems(cluster, variant):
        raise RecipeError(problems)
    return cluster
