"""The table behind the workflow's wildcard rules: a row a configuration; inside a job its own row alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from servesweep.plan.configuration_id import configuration_id
from servesweep.plan.row import PlanError, Row, read_row

if TYPE_CHECKING:
    from servesweep.plan.recipe_files import RecipeFile

RECIPE_ROOT = Path("config/recipes")
RESULTS = Path("results")


class Wildcards(Protocol):
    """What Snakemake hands to an input function, as far as it is used here."""

    configuration: str
    recipe: str


# Without `repr`: Snakemake prints the methods that it is given, and so their table, with all of its plans.
@dataclass(repr=False)
class Table:
    """The configurations of a sweep by id, and the recipe files they come from.

    Inside a job no recipe is known; its one configuration is read from its plan.
    """

    cluster_file: str
    settings: list[str] = field(default_factory=list)
    recipes: dict[str, list[RecipeFile]] = field(default_factory=dict)
    plans: Mapping[str, Row] = field(default_factory=dict)
    gpu_quota: int | None = None
    sources: dict[str, str] = field(default_factory=dict)
    gpu_hour_price: dict[str, float] = field(default_factory=dict)

    def plan(self, configuration: str) -> Row:
        """The row of one configuration: inside a job read from the plan of its results.

        Raises:
            PlanError: for one that is not in the sweep, or inside a job has no plan.
        """
        if configuration not in self.plans:
            if self.recipes:
                raise PlanError(f"{configuration} is no configuration of the recipes that are named")
            row = read_row(RESULTS / configuration / "plan.json")
            self.plans = {**self.plans, configuration: row}
        return self.plans[configuration]

    def digest(self, wildcards: Wildcards) -> str:
        """Identity of a configuration."""
        return self.plan(wildcards.configuration).digest

    def launcher(self, wildcards: Wildcards) -> str:
        """How the processes of a configuration are started."""
        return str(self.plan(wildcards.configuration).launcher)

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

    def turn(self, wildcards: Wildcards) -> int:
        """Priority of a run: configurations run in the order of the table. Inside a job there is one."""
        return self._turns.get(wildcards.configuration, 0)

    def turn_of_recipe(self, wildcards: Wildcards) -> int:
        """Priority of a validation: before all runs, in the order in which recipes are named."""
        return self.before_all_runs + self._turns_of_recipes.get(wildcards.recipe, 0)

    @property
    def before_all_runs(self) -> int:
        """A priority above those of runs."""
        return len(self.plans) + 1

    @cached_property
    def _turns(self) -> dict[str, int]:
        return {name: len(self.plans) - at for at, name in enumerate(self.plans)}

    @cached_property
    def _turns_of_recipes(self) -> dict[str, int]:
        return {name: len(self.recipes) - at for at, name in enumerate(self.recipes)}

    def digests(self, wildcards: Wildcards) -> list[str]:
        """Identity of every configuration of a recipe: a changed one validates the recipe again."""
        files = {recipe.path for recipe in self.recipes[wildcards.recipe]}
        own = [plan for plan in self.plans.values() if self.source(plan) in files]
        return [f"{plan.configuration}={plan.digest}" for plan in own]

    def source(self, plan: Row) -> str:
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

    def selection(self, wildcards: object = None) -> str:
        """What the tables of the sweep tell of: its configurations, at which prices.

        A new price measures nothing again, and tells other costs.
        """
        told = json.dumps([list(self.plans), self.gpu_hour_price], sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def validated(self, recipe: str) -> Path:
        """Validation record of a recipe."""
        return RESULTS / ".validated" / f"{recipe}.json"


def _asked(plan: Row, name: str) -> Any:
    """One resource of a plan's Slurm request."""
    value = getattr(plan.slurm, name)
    # Without a value the executor would use the profile's; an empty one of these it would pass on.
    unset = {"mem_mb": 0, "constraint": None, "qos": None, "gres": None}
    return value if value is not None else unset.get(name, "")


def held_gpus(plan: Row) -> int:
    """The GPUs of all nodes of a configuration, whether workers use them or not."""
    return int(plan.topology.total_nodes * plan.topology.gpus_per_node)
