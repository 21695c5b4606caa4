"""What this version cannot run is marked where people read about it: on the page and in editors."""

from __future__ import annotations

import json

from pydantic import BaseModel

from servesweep.benchmarks import BENCHMARKS
from servesweep.engines import ENGINES
from servesweep.plan.json_schema import recipe_schema
from servesweep.plan.reference_page import reference_page
from servesweep.plan.schema_definitions import models_in
from servesweep.recipe.not_yet import NotYet, mark_of
from servesweep.recipe.recipe import Recipe


def marks(model: type[BaseModel]) -> list[tuple[str, NotYet]]:
    """Every marked key below a model, with the model's name."""
    found = []
    for name, field in model.model_fields.items():
        if (mark := mark_of(field)) is not None:
            found.append((name, mark))
        for inner in models_in(field.annotation):
            found += marks(inner)
    return found


ALL = [
    *marks(Recipe),
    *(mark for kind in (*ENGINES.values(), *BENCHMARKS.values()) for mark in marks(kind.Options)),
]


def test_every_mark_stands_in_its_row_of_the_page_and_in_the_schema() -> None:
    rows = [line for line in reference_page().splitlines() if line.startswith("| `")]
    schema = json.dumps(recipe_schema(), ensure_ascii=False)
    assert {"failover", "type"} <= {key for key, _ in ALL}
    for key, mark in ALL:
        assert any(f"{key}` |" in row and row.endswith(f"{mark} |") for row in rows), key
        assert str(mark) in schema, key


def test_a_mark_says_what_is_left_out_and_of_which_value() -> None:
    assert str(NotYet("standby engines")) == "This version cannot run it yet: standby engines."
    assert str(NotYet("a copy", "hf:…")) == "`hf:…`: this version cannot run it yet: a copy."


def test_a_type_without_a_client_is_marked_too() -> None:
    row = next(line for line in reference_page().splitlines() if line.startswith("| [`agentperf`]"))
    assert "| this version cannot run it yet |" in row
    told = recipe_schema()["definitions"]["BenchmarkSection"]["properties"]["type"]["description"]
    assert told == "The registered name. `agentperf`: this version cannot run it yet."
