"""Under `snakemake -q all` the reasons for which it gives up are told all the same."""

from __future__ import annotations

import logging
import sys

EVENT = "error"
# A failed run tells why by itself, and the table tells which.
TOLD_ELSEWHERE = ("At least one job did not complete successfully", "servesweep run results/")


class QuietErrors(logging.Handler):
    """For Snakemake's logger: prints what ends a workflow: a lock, or a target that nothing makes."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)

    def emit(self, record: logging.LogRecord) -> None:
        """Print the message of an error of the workflow, without its exception's name."""
        event = getattr(vars(record).get("event"), "value", None)
        message = record.getMessage()
        if event == EVENT and not any(part in message for part in TOLD_ELSEWHERE):
            _, newline, rest = message.partition(":\n")
            print(rest if newline else message, file=sys.stderr)
