"""Snakemake's process ends when its work has: the nodes of a job wait for it."""

from __future__ import annotations

import atexit
import gc
import threading


def end_at_once() -> None:
    """Have this process neither wait for timers at its end nor look through all that it has loaded.

    Snakemake (9.27, JobScheduler) starts a timer of a second for its limit of submissions after each round. A
    job of Slurm, whose only round lasts as long as its command, would hold its nodes for that second too. And
    Python collects once more, for a third of a second where pandas is loaded; what is frozen is left alone.
    """
    atexit.register(gc.freeze)
    threading.Thread(target=_cancel_behind_the_main_thread, daemon=True).start()


def _cancel_behind_the_main_thread() -> None:
    threading.main_thread().join()
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()
