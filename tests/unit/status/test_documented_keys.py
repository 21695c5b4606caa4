"""docs/status.md tells every key of `--json` in the words of the model."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from servesweep.status.view import ConfigurationView, Cpus, Points, SweepView, Workers

PAGE = (Path(__file__).parents[3] / "docs/status.md").read_text()


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        (ConfigurationView, ""),
        (Workers, "workers.<role>."),
        (Points, "points."),
        (Cpus, "cpus."),
        (SweepView, ""),
    ],
)
def test_every_key_is_documented(model: type[BaseModel], prefix: str) -> None:
    for name, field in model.model_fields.items():
        assert f"| `{prefix}{name}` | {field.description} |" in PAGE
