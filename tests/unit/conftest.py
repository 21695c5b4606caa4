"""Plans of recipes that stand in the tests themselves, for symbolic nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from servesweep.plan.configuration import Configuration
from servesweep.plan.plan import Plan
from servesweep.plan.render import render
from servesweep.recipe.cluster import Cluster
from servesweep.recipe.source import parse
from servesweep.recipe.validation import read_recipe
from servesweep.recipe.variants import expand

HEAD = "schema: 2\nname: demo\nmodel: {path: tiny, precision: fp8}\nbenchmark: {type: manual}\n"
SITE = {"gpus_per_node": 8, "model_paths": {"tiny": "/models/tiny"}}


@pytest.fixture
def plan() -> Callable[..., Plan]:
    """Plan a recipe text below `schema`, `name`, `model` and `benchmark`; further keywords are the site's."""

    def planned(text: str, **site: Any) -> Plan:
        (variant,) = expand(parse(HEAD + text, "demo.yaml"))
        cluster = Cluster.model_validate({**SITE, **site})
        recipe = read_recipe(variant)
        return render(Configuration("demo", "demo.yaml", variant, recipe, cluster, "0" * 16, "0" * 16))

    return planned
