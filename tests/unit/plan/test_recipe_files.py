"""Names of recipes as people write them."""

from pathlib import Path

import pytest

from servesweep.plan.recipe_files import RecipeFile, find_recipes
from servesweep.recipe.problems import RecipeError


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my dir").mkdir()
    for name in ("my dir/a b.yaml", "a.yaml", "b.yaml"):
        Path(name).write_text("name: x\n")


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("my dir/a b.yaml", [("my dir/a b.yaml", None)]),
        ("my dir", [("my dir/a b.yaml", None)]),
        ("a.yaml b.yaml", [("a.yaml", None), ("b.yaml", None)]),
        ("a.yaml,b.yaml", [("a.yaml", None), ("b.yaml", None)]),
        ("my dir/a b.yaml,b.yaml:override_x", [("my dir/a b.yaml", None), ("b.yaml", "override_x")]),
        ("my dir/a b.yaml:tp4", [("my dir/a b.yaml", "tp4")]),
    ],
)
def test_names_between_commas_and_spaces(named: str, expected: list[tuple[str, str | None]]) -> None:
    assert find_recipes(named) == [RecipeFile(*one) for one in expected]


def test_a_link_to_nothing_is_not_left_out() -> None:
    Path("my dir/lost.yaml").symlink_to("nowhere.yaml")
    assert RecipeFile("my dir/lost.yaml") in find_recipes("my dir")


def test_what_is_not_there_is_named_by_itself() -> None:
    with pytest.raises(RecipeError, match=r"c\.yaml: no such recipe"):
        find_recipes("a.yaml c.yaml")
