"""The seed pages' examples, planned without a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from servesweep.plan.plan import Plan, Step
from servesweep.plan.sweep import RecipeFile, read_recipe_file
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError

HEAD = "schema: 2\nname: demo\nmodel: {path: /models/m, precision: fp8, container: image}\n"


class Reader:
    """Plans recipe texts, or tells what is said about them; further keywords are the cluster file's."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "recipe.yaml"
        self.root = directory

    def plans(self, text: str, settings: tuple[str, ...] = (), head: str = HEAD, **site: Any) -> list[Plan]:
        """Every configuration of a text below `schema`, `name` and `model`."""
        self.file.write_text(head + text)
        cluster = Cluster.model_validate({"launcher": "slurm", **site})
        return [p for _, p in read_recipe_file(RecipeFile(str(self.file)), cluster, self.root, settings)]

    def plan(self, text: str, **options: Any) -> Plan:
        """Its one configuration."""
        (plan,) = self.plans(text, **options)
        return plan

    def refusal(self, text: str, **options: Any) -> str:
        """The sentences that refuse it, without the file."""
        with pytest.raises(RecipeError) as caught:
            self.plans(text, **options)
        return "\n".join(f"{p.key}: {p.message}" for p in caught.value.problems)


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """A reader of recipe texts."""
    return Reader(tmp_path)


@pytest.fixture
def workers() -> Callable[[Plan, str], list[Step]]:
    """The steps of a role's workers."""
    return lambda plan, mode: [s for s in plan.steps if s.kind == "worker" and s.mode == mode]
