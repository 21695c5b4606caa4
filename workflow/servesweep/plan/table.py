"""The table behind the workflow's wildcard rules: a row a configuration; inside a job its own row alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.configuration import configuration_id
from servesweep.plan.plan import Plan, PlanError, read_plan
from servesweep.plan.preflight import preflight
from servesweep.plan.recipe_files import RecipeFile, find_recipes
from servesweep.plan.secrets import missing_secrets
from servesweep.plan.sweep import read_recipe_file, read_sweep
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import Problem, RecipeError, nearest, shown

RECIPE_ROOT = Path("config/recipes")
RESULTS = Path("results")
CONFIG_KEYS = ("recipes", "cluster", "set")
BRACES = "Snakemake takes braces in a path for a wildcard: rename the file or directory"


class Wildcards(Protocol):
    """What Snakemake hands to an input function, as far as it is used here."""

    configuration: str
    recipe: str


# Without `repr`: Snakemake prints the methods that it is given, and so their table, with all of its plans.
@dataclass(repr=False)
class SweepTable:
    """The configurations of a sweep, by id, and the recipe files they come from."""

    cluster_file: str
    launcher: str
    settings: list[str] = field(default_factory=list)
    recipes: dict[str, list[RecipeFile]] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    gpu_quota: int | None = None
    sources: dict[str, str] = field(default_factory=dict)
    gpu_hour_price: dict[str, float] = field(default_factory=dict)

    @classmethod
    def from_config(cls, config: Mapping[str, Any], inside_job: bool) -> SweepTable:
        """Expand all recipes, or none inside a job, whose one configuration is read from its plan.

        Raises:
            RecipeError: with every problem of every recipe and of the cluster file.
        """
        _known(config)
        cluster_file = _required(config, "cluster", "the cluster file, such as config/local.yaml")
        cluster: Cluster = read_cluster(cluster_file)
        table = cls(cluster_file, cluster.launcher, _listed(config.get("set")))
        table.gpu_hour_price = cluster.gpu_hour_price
        if not inside_job:
            recipes = find_recipes(_recipe_names(config.get("recipes")))
            if braced := [Problem(r.path, None, "", BRACES) for r in recipes if set("{}") & set(r.path)]:
                raise RecipeError(braced)
            for recipe in recipes:
                key = configuration_id(recipe.path, RECIPE_ROOT, None)
                table.recipes.setdefault(key, []).append(recipe)
            table.plans = read_sweep(recipes, cluster, RECIPE_ROOT, table.settings, RESULTS, table.sources)
        return table

    def plan(self, configuration: str) -> Plan:
        """The plan of one configuration.

        Raises:
            PlanError: for one that is not in the sweep, or inside a job has no plan.
        """
        if configuration not in self.plans:
            if self.recipes:
                raise PlanError(f"{configuration} is no configuration of the recipes that are named")
            self.plans[configuration] = read_plan(RESULTS / configuration / "plan.json")
        return self.plans[configuration]

    def digest(self, wildcards: Wildcards) -> str:
        """Identity of a configuration."""
        return self.plan(wildcards.configuration).digest

    def request(self, name: str) -> Callable[[Wildcards], Any]:
        """A function from wildcards to one resource of the Slurm request."""

        return lambda wildcards: _asked(self.plan(wildcards.configuration), name)

    def resource(self, name: str) -> Any:
        """What the rule says for a resource: the value where the whole sweep asks the same, else a function.

        Snakemake inspects every function again for every job, which takes longer than all else of it.
        """
        values = {_asked(plan, name) for plan in self.plans.values()}
        return values.pop() if len(values) == 1 else self.request(name)

    def share_of_quota(self) -> Any:
        """What the rule says for `gpu_quota`: the GPUs that the job holds; 0 where there is no quota."""
        if self.gpu_quota is None:
            return 0
        shares = {held_gpus(plan) for plan in self.plans.values()}
        if len(shares) == 1:
            return shares.pop()
        return lambda wildcards: held_gpus(self.plan(wildcards.configuration))

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

    def recipe_file(self, wildcards: Wildcards) -> str:
        """The file of a recipe."""
        path = self.recipes[wildcards.recipe][0].path
        # By its relative path a lockfile would be one that this sweep has to make first.
        return str(Path(path).absolute()) if Path(path).is_relative_to(RESULTS) else path

    def recipe_words(self, wildcards: Wildcards) -> list[str]:
        """The recipe as it was named: its file, with the selectors."""
        return [r.path + (f":{r.selector}" if r.selector else "") for r in self.recipes[wildcards.recipe]]

    def setting_words(self, wildcards: Wildcards) -> list[str]:
        """The values of the command line, as a function: Snakemake looks for wildcards in plain text."""
        return [f"--set={assignment}" for assignment in self.settings]

    def digests(self, wildcards: Wildcards) -> list[str]:
        """Identity of every configuration of a recipe: a changed one validates the recipe again."""
        files = {recipe.path for recipe in self.recipes[wildcards.recipe]}
        own = [plan for plan in self.plans.values() if self.source(plan) in files]
        return [f"{plan.configuration}={plan.digest}" for plan in own]

    def source(self, plan: Plan) -> str:
        """The file that a plan is made from, which may be a lockfile of its recipe."""
        return self.sources.get(plan.configuration, plan.recipe)

    def record(self, wildcards: Wildcards) -> Path:
        """The validation record of the recipe that a configuration comes from."""
        source = self.source(self.plan(wildcards.configuration))
        return self.validated(configuration_id(source, RECIPE_ROOT, None))

    def records(self, wildcards: object = None) -> list[Path]:
        """The validation records of all recipes."""
        return [self.validated(recipe) for recipe in self.recipes]

    def run_records(self, wildcards: object = None) -> list[Path]:
        """The run records of all configurations."""
        return [RESULTS / configuration / "run.json" for configuration in self.plans]

    def lockfiles(self, wildcards: object = None) -> list[Path]:
        """The lockfiles of all configurations."""
        return [RESULTS / configuration / "recipe.lock.yaml" for configuration in self.plans]

    def validated(self, recipe: str) -> Path:
        """Validation record of a recipe."""
        return RESULTS / ".validated" / f"{recipe}.json"


def _asked(plan: Plan, name: str) -> Any:
    """One resource of a plan's Slurm request."""
    value = getattr(plan.slurm, name)
    # Without a value the executor would use the profile's; an empty one of these it would pass on.
    unset = {"mem_mb": 0, "constraint": None, "qos": None, "gres": None}
    return value if value is not None else unset.get(name, "")


def write_sweep_list(table: SweepTable) -> str:
    """Text of `results/sweep.json`: the configurations of the sweep, in order, and its quota."""
    listed = {"schema": 1, "configurations": list(table.plans), "gpu_quota": table.gpu_quota}
    return json.dumps(listed, indent=1) + "\n"


def held_gpus(plan: Plan) -> int:
    """The GPUs of all nodes of a configuration, whether workers use them or not."""
    return plan.topology.total_nodes * plan.topology.gpus_per_node


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
    for recipe in find_recipes(words):
        for configuration, plan in read_recipe_file(recipe, cluster, RECIPE_ROOT, settings, RESULTS):
            plans.append((recipe.path, plan))
            problems += preflight(plan, configuration.variant, look=look)
            lacking = missing_secrets(plan, recipe.path, cluster_file)
            problems += [Problem(recipe.path, None, "", sentence) for sentence in lacking]
    if problems:
        raise RecipeError(dict.fromkeys(problems))
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
