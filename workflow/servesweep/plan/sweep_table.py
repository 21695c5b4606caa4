"""The table of a whole sweep, every recipe expanded; and one recipe of it, validated."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.configuration_id import configuration_id
from servesweep.plan.plan import Plan
from servesweep.plan.preflight import preflight
from servesweep.plan.recipe_files import find_recipes
from servesweep.plan.secrets import missing_secrets
from servesweep.plan.sweep import read_recipe_file, read_sweep
from servesweep.plan.table import RECIPE_ROOT, RESULTS, Table, held_gpus
from servesweep.recipe.grid_faults import told_once
from servesweep.recipe.grid_values import GridValue
from servesweep.recipe.problems import Problem, RecipeError, nearest, shown

CONFIG_KEYS = ("recipes", "cluster", "set")
BRACES = "Snakemake takes braces in a path for a wildcard: rename the file or directory"


@dataclass(repr=False)
class SweepTable(Table):
    """The table of the controlling process: its rows are plans."""

    plans: dict[str, Plan] = field(default_factory=dict)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> SweepTable:
        """Expand all recipes.

        Raises:
            RecipeError: with every problem of every recipe and of the cluster file.
        """
        _known(config)
        cluster_file = _required(config, "cluster", "the cluster file, such as config/local.yaml")
        cluster = read_cluster(cluster_file)
        table = cls(cluster_file, _listed(config.get("set")))
        table.gpu_hour_price = cluster.gpu_hour_price
        recipes = find_recipes(_recipe_names(config.get("recipes")))
        if braced := [Problem(r.path, None, "", BRACES) for r in recipes if set("{}") & set(r.path)]:
            raise RecipeError(braced)
        for recipe in recipes:
            table.recipes.setdefault(configuration_id(recipe.path, RECIPE_ROOT, None), []).append(recipe)
        table.plans = read_sweep(recipes, cluster, RECIPE_ROOT, table.settings, RESULTS, table.sources)
        return table

    def limit_gpus(self, quota: int | None) -> None:
        """Have the sweep hold at most so many GPUs at once.

        Raises:
            RecipeError: for each configuration that needs more alone. Snakemake would count it as the quota,
                and run it.
        """
        self.gpu_quota = quota
        too_large = [plan for plan in self.plans.values() if quota is not None and held_gpus(plan) > quota]
        if too_large:
            raise RecipeError(dict.fromkeys(_beyond_quota(plan, quota) for plan in too_large))


def write_sweep_list(table: SweepTable) -> str:
    """Text of `results/sweep.json`: the configurations of the sweep, in order, and its quota."""
    listed = {"schema": 1, "configurations": list(table.plans), "gpu_quota": table.gpu_quota}
    return json.dumps(listed, indent=1) + "\n"


def _beyond_quota(plan: Plan, quota: int | None) -> Problem:
    nodes, per_node = plan.topology.total_nodes, plan.topology.gpus_per_node
    shape = f"{nodes} node{'s' * (nodes != 1)} of {per_node}"
    needs = f"{plan.configuration} needs {held_gpus(plan)} GPUs ({shape})"
    message = f"{needs}, and the sweep may hold {quota} at once: raise gpu_quota, or make it smaller"
    return Problem(plan.recipe, None, "", message)


def validate_recipe(words: list[str], cluster_file: str, settings: list[str]) -> list[Plan]:
    """The plans of one recipe file, each of which could be run from this machine."""
    return [plan for _, plan in validated(words, cluster_file, settings)]


def validated(
    words: list[str], cluster_file: str, settings: list[str], *, look: bool = True
) -> list[tuple[str, Plan]]:
    """The plans of one recipe file with the file, each of which could be run from this machine.

    Without `look` nothing is looked for on this machine.

    Raises:
        RecipeError: with every problem.
    """
    cluster = read_cluster(cluster_file)
    plans: list[tuple[str, Plan]] = []
    problems: list[Problem] = []
    faults: list[tuple[tuple[GridValue, ...], Problem]] = []
    for recipe in find_recipes(words):
        for configuration, plan in read_recipe_file(recipe, cluster, RECIPE_ROOT, settings, RESULTS):
            plans.append((recipe.path, plan))
            values = configuration.variant.values
            faults += [(values, told) for told in preflight(plan, configuration.variant, look=look)]
            lacking = missing_secrets(plan, recipe.path, cluster_file)
            problems += [Problem(recipe.path, None, "", sentence) for sentence in lacking]
    problems = [*told_once(faults), *problems]
    if problems:
        raise RecipeError(problems)
    return plans


def _known(config: Mapping[str, Any]) -> None:
    """Refuse keys that nothing reads: `recipe=` for `recipes=` would run another sweep."""
    problems = []
    for key in config:
        if key not in CONFIG_KEYS:
            guess = nearest(key, CONFIG_KEYS)
            hint = f"did you mean {guess}?" if guess else f"known here: {', '.join(CONFIG_KEYS)}"
            problems.append(Problem("config", None, key, f"unknown key; {hint}"))
    if problems:
        raise RecipeError(problems)


def _required(config: Mapping[str, Any], key: str, what: str) -> str:
    if not isinstance(config.get(key), str):
        message = f"the configuration names no {key}: say --config {key}=FILE, {what}"
        raise RecipeError([Problem("config", None, key, message)])
    return str(config[key])


def _recipe_names(named: Any) -> str | list[str] | None:
    """One name or a list of them; what else YAML may hold is no name."""
    if named is None or isinstance(named, str):
        return named
    if isinstance(named, list) and all(isinstance(word, str) for word in named):
        return named
    message = f"expected file names, as text or a list, got {shown(named)}"
    raise RecipeError([Problem("config", None, "recipes", message)])


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(word) for word in value] if isinstance(value, list) else str(value).split()
