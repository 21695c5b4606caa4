"""Where the corpus of real recipes is, and how its tables are read."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Directory of the corpus; absent it skips by name, and fails in CI."""
    directory = Path(os.environ.get("SERVESWEEP_CORPUS", REPOSITORY.parent / "shared" / "corpus"))
    if not directory.is_dir():
        message = f"corpus not found: {directory}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return directory


@pytest.fixture(scope="session")
def rows(corpus: Path) -> Callable[[str], list[dict[str, Any]]]:
    """Read one of the corpus's tables of JSON lines."""

    def read(name: str) -> list[dict[str, Any]]:
        with gzip.open(corpus / name, "rt") as lines:
            return [json.loads(line) for line in lines]

    return read
