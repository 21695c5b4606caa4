"""The client processes, seen from the parent: start, command, collect, end."""

from __future__ import annotations

import contextlib
import pickle
import selectors
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO

from servesweep.loadgen.board import Board
from servesweep.loadgen.errors import LoadgenError
from servesweep.loadgen.job import Phase
from servesweep.loadgen.lag import LagReport
from servesweep.loadgen.record import RequestRecord

TICK_S = 1.0
HEAD_START_S = 0.05
END_S = 2.0


class Pool:
    """A context in which the client processes live; on leaving it none is left, however it is left."""

    def __init__(self, directory: Path, processes: int, board: Board) -> None:
        self._directory, self._board = directory, board
        self._children: list[subprocess.Popen[bytes]] = []
        self._count = processes

    def __enter__(self) -> Pool:
        try:
            for rank in range(self._count):
                command = [sys.executable, "-m", "servesweep.loadgen.worker", str(self._directory), str(rank)]
                pipe = subprocess.PIPE
                self._children.append(subprocess.Popen(command, stdin=pipe, stdout=pipe))
            self._wait(lambda: None)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.end()

    def run_phase(
        self, phase: Phase, tick: Callable[[], None]
    ) -> tuple[list[RequestRecord], list[LagReport]]:
        """Run one phase in all processes, calling `tick` once a second; records sorted by number.

        Raises LoadgenError when a process dies.
        """
        self._board.reset()
        clock = time.perf_counter() + HEAD_START_S
        for child in self._children:
            with contextlib.suppress(BrokenPipeError):  # a dead child is told of by its closed stdout
                _pipe(child.stdin).write(f"{phase} {clock!r}\n".encode())
                _pipe(child.stdin).flush()
        self._wait(tick)
        records: list[RequestRecord] = []
        reports: list[LagReport] = []
        for rank in range(self._count):
            path = self._directory / f"{phase}.{rank}.pickle"
            part, report = pickle.loads(path.read_bytes())
            records += part
            reports.append(report)
        return sorted(records, key=lambda record: record.index), reports

    def end(self) -> None:
        """End every process: by closing its standard input, and by a kill when that is not enough."""
        for child in self._children:
            with contextlib.suppress(BrokenPipeError):
                _pipe(child.stdin).close()
        deadline = time.monotonic() + END_S
        for child in self._children:
            try:
                child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            _pipe(child.stdout).close()

    def _wait(self, tick: Callable[[], None]) -> None:
        with selectors.DefaultSelector() as selector:
            for child in self._children:
                selector.register(_pipe(child.stdout), selectors.EVENT_READ, child)
            due = time.monotonic() + TICK_S
            while selector.get_map():
                for key, _ in selector.select(max(0.0, due - time.monotonic())):
                    child = key.data
                    if not _pipe(child.stdout).readline():
                        raise LoadgenError(f"a client process ended early with exit code {child.wait()}")
                    selector.unregister(key.fileobj)
                if time.monotonic() >= due:
                    due += TICK_S
                    tick()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # every child is started with both pipes
    return pipe
