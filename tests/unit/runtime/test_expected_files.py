"""A lockfile that a run has left is what its rule expects; any other file is still warned of."""

from __future__ import annotations

import logging

import pytest

from servesweep.runtime.expected_files import not_expected

WARNING = "Warning: the following output files of rule {} were not present when the DAG was created:\n{{'x'}}"


@pytest.mark.parametrize(("rule", "told"), [("lockfile", False), ("run", True)])
def test_the_lockfile_of_a_run_is_no_surprise(
    rule: str, told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log = logging.getLogger("snakemake.expected")
    log.addFilter(not_expected)
    log.warning(WARNING.format(rule))
    assert bool(caplog.messages) == told
