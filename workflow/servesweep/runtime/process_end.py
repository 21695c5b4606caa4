"""Snakemake's process ends when its work has."""

from __future__ import annotations

import threading


def end_without_timers() -> None:
    """Cancel the timers that are left when the main thread is over: they keep the process, and so its nodes.

    Snakemake (9.27, JobScheduler) starts one of a second for its limit of submissions after each round. A job
    of Slurm, whose only round lasts as long as its command, would hold its nodes for that second too.
    """
    threading.Thread(target=_cancel_behind_the_main_thread, daemon=True).start()


def _cancel_behind_the_main_thread() -> None:
    threading.main_thread().join()
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.cancel()
