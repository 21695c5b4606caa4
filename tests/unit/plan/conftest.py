"""Plans of recipes that stand in the tests themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from servesweep.plan.plan import Plan
from servesweep.plan.recipe_files import RecipeFile
from servesweep.plan.sweep import read_recipe_file
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.problems import RecipeError

HEAD = "schema: 2\nname: demo\nmodel: {path: tiny, precision: fp8}\n"
SITE = {
    "cluster": "lab",
    "launcher": "slurm",
    "default_partition": "batch",
    "default_gpu_type": "h100",
    "default_time_limit": 60,
    "model_paths": {"tiny": "/models/tiny"},
}


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Plan]]:
    """Plan a recipe text below `schema`, `name` and `model`; further keywords are the site's."""
    monkeypatch.chdir(tmp_path)

    def plan(text: str, head: str = HEAD, file: str = "demo.yaml", **site: Any) -> list[Plan]:
        Path(file).write_text(head + text)
        cluster = Cluster.model_validate({**SITE, **site})
        return [plan for _, plan in read_recipe_file(RecipeFile(file), cluster, Path())]

    return plan


@pytest.fixture
def plan(plans: Callable[..., list[Plan]]) -> Callable[..., Plan]:
    """Plan the one configuration of a recipe text."""
    return lambda text, **options: plans(text, **options)[0]


@pytest.fixture
def complaint(plans: Callable[..., list[Plan]]) -> Callable[..., str]:
    """What is said about a recipe text that cannot be planned; its first line is line 4."""

    def refused(text: str, **options: Any) -> str:
        with pytest.raises(RecipeError) as caught:
            plans(text, **options)
        return str(caught.value)

    return refused
