"""Every command that the README and the manual show is typed by a test."""

from __future__ import annotations

import pytest
from tests.commands import ELSEWHERE, HERE, PAGES, REPOSITORY, TYPED, commands

TYPED_HERE = ("README.md", "docs/tutorial.md", "docs/status.md", "docs/numbers.md", "docs/sweeps.md",
              "docs/from-srt-slurm.md")  # fmt: skip


def test_the_table_of_commands_that_run_elsewhere_names_commands_that_are_shown() -> None:
    shown = {(page, command) for page in PAGES for command in commands(page)}
    assert set(ELSEWHERE) <= shown


@pytest.mark.parametrize(("where", "words"), sorted(set(ELSEWHERE.values())))
def test_what_runs_elsewhere_is_run_there(where: str, words: str) -> None:
    assert words in (REPOSITORY / where).read_text()


def test_the_pages_whose_commands_are_typed_as_they_stand_are_read_by_the_tests_that_type_them() -> None:
    assert {page for (page, _), name in TYPED.items() if name == HERE} == set(TYPED_HERE)
    text = (REPOSITORY / "tests/e2e_local" / HERE).read_text()
    assert all(f'"{page}"' in text for page in TYPED_HERE)
