"""Numbers in places where they are text in the end keep their spelling."""

import yaml

from servesweep.recipe.composing import compose, construct
from servesweep.recipe.naming import safe_name
from servesweep.recipe.recipe import Recipe

TEXT = """
schema: 2
name: demo
model: {path: m, precision: p}
engine: sglang
roles: {agg: {nodes: 1}}
environment: {V: 12.10, W: 007, X: 1e5, Z: +5, N: 7}
srun_options: {mem-per-cpu: 0.50}
"""


def test_an_environment_has_what_was_written() -> None:
    node = compose(TEXT)
    assert node is not None
    recipe = Recipe.model_validate(construct(node).data)
    assert recipe.environment == {"V": "12.10", "W": "007", "X": "1e5", "Z": "+5", "N": "7"}
    assert recipe.srun_options == {"mem-per-cpu": "0.50"}


def test_in_yaml_they_are_plain_numbers_and_python_writes_them_in_its_own_way() -> None:
    node = compose("{a: 0.50, b: 007, c: 1e5}")
    assert node is not None
    data = construct(node).data
    assert yaml.safe_dump(data) == "a: 0.5\nb: 7\nc: 100000.0\n"
    assert [str(value) for value in data.values()] == ["0.5", "7", "100000.0"]
    assert [repr(value) for value in data.values()] == ["0.50", "007", "1e5"]


def test_a_safe_name_stays_as_it_is() -> None:
    assert safe_name("tp4 ep/8", 20) == "tp4-ep-8"


def test_other_texts_have_other_names() -> None:
    names = [safe_name(one, 20) for one in ("日本", "中文", "é", "-", "x" * 30, "x" * 31)]
    assert len(set(names)) == 6
    assert all(name.isascii() and len(name) <= 20 for name in names)
