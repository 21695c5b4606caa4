"""Plugins of pydantic that other packages install: none is loaded for recipes, and others keep theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from servesweep.recipe.plugins import DISABLE, without_plugins

VALIDATING = """
import os, sys
from servesweep.recipe.model import ModelSection
ModelSection.model_validate({"path": "m", "precision": "fp8"})
print("told" in sys.modules, os.environ.get("PYDANTIC_DISABLE_PLUGINS"))
import pydantic
pydantic.create_model("Other", x=(int, 1)).model_validate({})
print("told" in sys.modules)
"""


def test_a_plugin_is_loaded_for_the_models_of_others_alone(tmp_path: Path) -> None:
    information = tmp_path / "told-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: told\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[pydantic]\ntold = told:plugin\n")
    (tmp_path / "told.py").write_text(
        "class plugin:\n"
        "    @staticmethod\n"
        "    def new_schema_validator(*_: object) -> tuple[None, None, None]:\n"
        "        return None, None, None\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    told = subprocess.run(
        [sys.executable, "-c", VALIDATING],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
        capture_output=True,
        text=True,
    )
    assert told.stdout.splitlines() == ["False None", "True"]


def test_what_the_environment_said_is_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DISABLE, "one")
    with without_plugins():
        assert os.environ[DISABLE] == "__all__"
    assert os.environ[DISABLE] == "one"
