"""One client process: takes request numbers from the board, sends them, hands its records to the parent.

Started as `python -m servesweep.loadgen.worker DIRECTORY RANK`. It says `ready` on its standard output; the
parent writes `PHASE CLOCK` lines to its standard input and it answers each with `done`; when standard input
closes, it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import pickle
import resource
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, get_args

from servesweep.loadgen.board import Board, Counts
from servesweep.loadgen.client import Session, send
from servesweep.loadgen.job import Phase, PhaseJob, read_job, read_phase
from servesweep.loadgen.lag import LagReport, sample_lag
from servesweep.loadgen.record import RequestRecord
from servesweep.loadgen.sse import EventStream

PUBLISH_S = 0.5
Post = Callable[[bytes, RequestRecord, EventStream], Awaitable[None]]


class PhaseRun:
    """One phase in this process: never more than `slots` requests at a time (None: no limit)."""

    def __init__(self, job: PhaseJob, board: Board, rank: int, slots: int | None, post: Post) -> None:
        self._job, self._board, self._rank, self._post = job, board, rank, post
        self._slots = None if slots is None else asyncio.Semaphore(slots)
        self._live: dict[int, EventStream] = {}
        self._ended = Counts(0, 0, 0)
        self.records: list[RequestRecord] = []

    async def run(self, clock: float) -> None:
        """Send until no number is left and all answers are there; `clock` is second 0 of the arrivals."""
        await asyncio.sleep(max(0.0, clock - perf_counter()))
        publisher = asyncio.create_task(self._publish_often())
        async with asyncio.TaskGroup() as group:
            while True:
                if self._slots is not None:
                    await self._slots.acquire()
                index = self._board.take(self._job.count)
                if index is None:
                    break
                late = clock + self._job.arrivals_s[index] - perf_counter()
                if late > 0:
                    await asyncio.sleep(late)
                group.create_task(self._one(index))
        publisher.cancel()
        self._publish()

    async def _one(self, index: int) -> None:
        job, stream = self._job, EventStream()
        record = RequestRecord(index, 0.0, 0.0, job.inputs[index], job.outputs[index])
        self._live[index] = stream
        await self._post(job.body(index), record, stream)
        del self._live[index]
        self.records.append(record)
        completed, failed, chunks = self._ended
        self._ended = Counts(completed + record.ok, failed + (not record.ok), chunks + len(stream.arrivals))
        if self._slots is not None:
            self._slots.release()

    async def _publish_often(self) -> None:
        while True:
            await asyncio.sleep(PUBLISH_S)
            self._publish()

    def _publish(self) -> None:
        live = sum(len(stream.arrivals) for stream in self._live.values())
        self._board.publish(self._rank, self._ended._replace(chunks=self._ended.chunks + live))


async def serve(directory: Path, rank: int) -> None:
    """Answer the parent's commands until it closes standard input."""
    job = read_job(directory)
    phases = {phase: read_phase(directory, phase) for phase in get_args(Phase)}
    board = Board(directory / "board", job.processes)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: _HangUp(commands), sys.stdin)
    # What exists by now stays: the collector need not walk it while it is measured.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    print("ready", flush=True)
    async with Session(job.url, job.timeout_s) as session:
        post = partial(send, session)
        while line := await commands.readline():
            name, clock = line.decode().split()
            run = PhaseRun(phases[name], board, rank, job.slots[rank] if job.slots else None, post)
            report = await _sampled(run.run(float(clock)))
            (directory / f"{name}.{rank}.pickle").write_bytes(pickle.dumps((run.records, report)))
            print("done", flush=True)


async def _sampled(work: Coroutine[Any, Any, None]) -> LagReport:
    """Do the work, and say how the event loop and the CPU fared meanwhile."""
    report = LagReport()
    sampler = asyncio.create_task(sample_lag(report))
    await work
    sampler.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await sampler
    return report


class _HangUp(asyncio.StreamReaderProtocol):
    """Ends the process when the parent is gone, whatever is in flight."""

    def eof_received(self) -> bool:
        os._exit(0)


def new_loop() -> asyncio.AbstractEventLoop:
    """A uvloop event loop when that is installed, else asyncio's own."""
    factory: Callable[[], asyncio.AbstractEventLoop]
    try:
        from uvloop import new_event_loop as factory
    except ImportError:
        factory = asyncio.new_event_loop
    return factory()


def run_on_loop(main: Coroutine[Any, Any, None]) -> None:
    """Run one coroutine to its end on `new_loop`."""
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    run_on_loop(serve(Path(sys.argv[1]), int(sys.argv[2])))
