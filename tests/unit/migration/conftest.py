"""How the tests migrate a snippet."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from servesweep.migration.migrate import migrate_text

Migrate = Callable[[str], str]


@pytest.fixture
def migrate() -> Migrate:
    """Migrate a snippet; what comes out must be stable under a second migration."""

    def run(snippet: str) -> str:
        text = migrate_text(dedent(snippet).lstrip("\n"), "recipe.yaml").text
        assert migrate_text(text, "recipe.yaml").text == text
        return text

    return run
