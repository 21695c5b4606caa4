"""The cluster file of commands that are told none: the one that the workflow would take here."""

from __future__ import annotations

from pathlib import Path

from servesweep.recipe.source import load

CONFIG = Path("config/config.yaml")


def default_cluster() -> str | None:
    """The cluster file that config/config.yaml names; None where there is no such configuration.

    Raises:
        RecipeError: for a configuration that is no YAML mapping.
    """
    if not CONFIG.is_file():
        return None
    named = load(str(CONFIG)).data.get("cluster")
    return named if isinstance(named, str) else None
