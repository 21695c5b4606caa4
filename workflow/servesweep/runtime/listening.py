"""What is added to Snakemake's own telling of a sweep, and taken from it."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from servesweep.plan.row import Row
from servesweep.runtime.expected_files import not_expected
from servesweep.runtime.interruption import Interruption, hang_up_as_interrupt
from servesweep.runtime.quiet_errors import QuietErrors
from servesweep.runtime.unbroken import keep_unbroken
from servesweep.runtime.unstarted import UnstartedRuns


def listen(logger: logging.Logger, plans: Iterable[Row], quiet: bool) -> None:
    """Hear Snakemake's logger in its main process; `quiet` where `-q all` keeps its errors to itself."""
    keep_unbroken(logger.handlers)
    hang_up_as_interrupt()
    logger.addFilter(not_expected)
    logger.addHandler(UnstartedRuns())
    by_slurm = any(plan.launcher == "slurm" for plan in plans)
    logger.addHandler(Interruption("slurm" if by_slurm else "local"))
    if quiet:
        logger.addHandler(QuietErrors())
