"""The engine that the page on extending shows is one file and one line, as the page says."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from servesweep.engines import ENGINES
from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.recipe_files import find_recipes
from servesweep.plan.sweep import read_sweep
from servesweep.recipe.problems import RecipeError

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = (REPOSITORY / "docs/extending.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"the page shows no {language}"
    return found[1]


@pytest.fixture
def hypothetical(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page's file as a module, and its line in the registry."""
    module = ModuleType("servesweep.engines.hypothetical")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(block("python"), "hypothetical.py", "exec"), module.__dict__)
    monkeypatch.setitem(ENGINES, "hypothetical", module.Hypothetical())
    return module


def planned(text: str, directory: Path) -> list[tuple[str, ...]]:
    """The command lines of the workers."""
    file = directory / "wide.yaml"
    file.write_text(text)
    cluster = read_cluster(str(REPOSITORY / "config/cluster.yaml"))
    (plan,) = read_sweep(find_recipes([str(file)]), cluster, directory).values()
    return [step.command.argv for step in plan.steps if step.kind == "worker"]


def test_its_recipe_is_planned_with_every_rank(hypothetical: ModuleType, tmp_path: Path) -> None:
    assert planned(block("yaml"), tmp_path) == [
        (
            *("hypothetical-serve", "/models/llama-3-70b", "--host", "0.0.0.0"),
            *("--leader", "ip-n0:8300", "--rank", "0", "--port", "6100", "--quiet", "--shards", "16"),
        ),
        (
            *("hypothetical-serve", "/models/llama-3-70b", "--host", "0.0.0.0"),
            *("--leader", "ip-n0:8300", "--rank", "1", "--quiet", "--shards", "16"),
        ),
    ]


@pytest.mark.parametrize(
    ("right", "wrong", "told"),
    [
        ("shards: 16", "rank: 1", "roles.agg.args.rank: servesweep sets this argument itself"),
        ("shards: 16", "shards: 32", "roles.agg.args: the parallel sizes need 32 GPUs"),
        ("quiet: true", "quite: true", "engine.quite: unknown key; did you mean quiet?"),
    ],
)
def test_what_its_file_says_refuses_recipes(
    hypothetical: ModuleType, tmp_path: Path, right: str, wrong: str, told: str
) -> None:
    with pytest.raises(RecipeError) as error:
        planned(block("yaml").replace(right, wrong), tmp_path)
    assert told in str(error.value)
