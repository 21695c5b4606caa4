"""Every recipe that the README and the manual show can be planned as it stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from servesweep.plan.cluster_file import read_cluster
from servesweep.plan.plan import Plan
from servesweep.plan.recipe_files import find_recipes
from servesweep.plan.sweep import read_sweep

REPOSITORY = Path(__file__).resolve().parents[3]
FENCE = re.compile(r"^```yaml\n(schema: 2\n.*?)^```$", re.MULTILINE | re.DOTALL)


def shown() -> Iterator[tuple[str, str]]:
    for page in (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))):
        if page.name == "extending.md":  # its recipe is for an engine that the page adds: test_extending.py
            continue
        for number, block in enumerate(FENCE.findall(page.read_text())):
            yield f"{page.name}-{number}", block


def planned(path: Path, cluster: str = "config/cluster.yaml") -> dict[str, Plan]:
    return read_sweep(find_recipes([str(path)]), read_cluster(str(REPOSITORY / cluster)), path.parent)


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in shown()])
def test_a_recipe_in_a_document_can_be_planned(text: str, tmp_path: Path) -> None:
    file = tmp_path / "llama.yaml"
    file.write_text(text)
    assert planned(file)


def test_documents_show_recipes() -> None:
    assert {name for name, _ in shown()} >= {"README.md-0", "sweeps.md-0", "sweeps.md-1"}


def test_the_configurations_of_the_shown_sweeps_are_called_as_the_page_says(tmp_path: Path) -> None:
    blocks = dict(shown())
    page = (REPOSITORY / "docs/sweeps.md").read_text()
    file = tmp_path / "llama.yaml"
    file.write_text(blocks["sweeps.md-0"])
    grid = list(planned(file))
    assert grid == [
        "llama_tp4_policyround_robin",
        "llama_tp4_policycache_aware",
        "llama_tp8_policyround_robin",
        "llama_tp8_policycache_aware",
    ]
    file.write_text(blocks["sweeps.md-1"])
    family = planned(file)
    assert list(family) == ["llama_long", "llama_tp4", "llama_memory_0", "llama_memory_1"]
    assert family["llama_tp4"].topology.num_agg == 2
    assert all(f"`{name}`" in page for name in [*grid, "llama_memory_0", "llama_memory_1"])


def test_the_shipped_sweeps_are_what_their_comments_say() -> None:
    features = REPOSITORY / "config/recipes/features"
    grid = planned(features / "sweep.yaml")
    roles = [plan.resolved.roles.agg for plan in grid.values() if plan.resolved.roles]
    assert [(role.workers, role.args["itl-ms"]) for role in roles if role] == [
        (1, 5), (1, 10), (2, 5), (2, 10),
    ]  # fmt: skip
    family = planned(features / "overrides.yaml")
    assert {name.split(".")[-1]: plan.topology.gpus_per_agg for name, plan in family.items()} == {
        "overrides_short": 8, "overrides_packed_0": 4, "overrides_packed_1": 2,
    }  # fmt: skip
