"""What becomes of a sweep whose Snakemake is interrupted, told as soon as it is, under `-q` too."""

from __future__ import annotations

import logging
import signal
import sys

# How Snakemake (9.27, JobScheduler) begins to tell that somebody interrupted it, and that it got SIGTERM.
INTERRUPTED = "Terminating processes on user request"
ASKED_TO_END = "Will exit after finishing currently running jobs (scheduler)"
LATER = "the same command goes on later"
RUNS_END = f"no further run begins, and one that got no signal itself comes to its end first; {LATER}"
CANCELLED = f"the jobs of this sweep are cancelled; {LATER}"


def hang_up_as_interrupt() -> None:
    """Take a terminal that is closed for Ctrl-C, which cancels the jobs; under nohup it means nothing."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, signal.default_int_handler)


class Interruption(logging.Handler):
    """For Snakemake's logger: says which runs still go on; on one machine Snakemake waits for them."""

    def __init__(self, launcher: str) -> None:
        super().__init__(logging.INFO)
        self.launcher = launcher
        self.told = False

    def emit(self, record: logging.LogRecord) -> None:
        """Print one sentence where Snakemake begins to end."""
        message = record.getMessage()
        interrupted = message.startswith(INTERRUPTED)
        # Snakemake repeats the second one as long as there are runs.
        if self.told or not (interrupted or message.startswith(ASKED_TO_END)):
            return
        self.told = True
        outcome = CANCELLED if interrupted and self.launcher == "slurm" else RUNS_END
        print(f"{'Interrupted' if interrupted else 'Asked to end'}: {outcome}.", file=sys.stderr, flush=True)
