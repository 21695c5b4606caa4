"""Waiting: for a service, for a fatal line; and telling it to a terminal that may be gone."""

from __future__ import annotations

import asyncio
import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from servesweep.plan.plan import Step
from servesweep.runtime.allocation import find_allocation
from servesweep.runtime.health_gate import FATAL_MARKERS, fatal_line
from servesweep.runtime.launchers import launcher_of
from servesweep.runtime.services import wait_for_service
from servesweep.runtime.story import Story
from servesweep.runtime.supervisor import StartError, Supervisor
from servesweep.topology.deployment import Command, Probe

SERVER = "import socket, time; s = socket.create_server(('127.0.0.1', {port})); time.sleep(60)"
PLAN = cast(Any, SimpleNamespace(deployment=SimpleNamespace(address=lambda node: "127.0.0.1")))


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def wait(code: str, port: int, logs: Path) -> None:
    supervisor = Supervisor(launcher_of(find_allocation("local", ["n0"])), logs, lambda line: None)
    step = Step(
        name="etcd",
        kind="service",
        node="n0",
        command=Command(argv=(sys.executable, "-c", code)),
        probe=Probe(kind="tcp", port=port),
        log="etcd.out",
    )
    try:
        await asyncio.wait_for(wait_for_service(await supervisor.start(step), PLAN), 30)
    finally:
        await supervisor.stop()


def test_a_service_is_waited_for_until_it_answers(tmp_path: Path) -> None:
    port = free_port()
    asyncio.run(wait(SERVER.format(port=port), port, tmp_path))


def test_a_service_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="it ended before it was ready"):
        asyncio.run(wait("raise SystemExit(4)", free_port(), tmp_path))


def test_the_first_fatal_line_is_found(tmp_path: Path) -> None:
    log = tmp_path / "agg.out"
    log.write_bytes(b"loading\xff\n  RuntimeError: CUDA out of memory. Tried\nNCCL error\n")
    assert fatal_line(log, FATAL_MARKERS) == "RuntimeError: CUDA out of memory. Tried"
    assert fatal_line(log, ("no such thing",)) is None
    assert fatal_line(tmp_path / "none", FATAL_MARKERS) is None


def test_an_own_pattern_counts_alone(tmp_path: Path) -> None:
    log = tmp_path / "agg.out"
    log.write_text("CUDA out of memory\nlicence expired\n")
    assert fatal_line(log, ("licence (expired|missing)",)) == "licence expired"


def test_a_closed_terminal_does_not_stop_the_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for terminal in (closed, None):
        monkeypatch.setattr(sys, "stderr", terminal)
        with Story("a", tmp_path / "run.log") as story:
            story("still here")
    lines = (tmp_path / "run.log").read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == ["still here", "still here"]


def test_a_log_that_cannot_be_opened_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Story("a", tmp_path) as story:
        story("going on")
    told = capsys.readouterr().err
    assert f"no log is kept: {tmp_path}: Is a directory" in told
    assert "going on" in told
