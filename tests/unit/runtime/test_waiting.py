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
from servesweep.runtime.fatal_lines import FatalLines
from servesweep.runtime.health_gate import FATAL_MARKERS
from servesweep.runtime.launchers import launcher_of
from servesweep.runtime.services import NotReadyError, wait_for_service
from servesweep.runtime.story import Story
from servesweep.runtime.supervisor import Supervisor
from servesweep.topology.deployment import Command, Probe, Readiness

SERVER = "import socket, time; s = socket.create_server(('127.0.0.1', {port})); time.sleep(60)"
PLAN = cast(Any, SimpleNamespace(deployment=SimpleNamespace(address=lambda node: "127.0.0.1")))


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def wait(argv: tuple[str, ...], readiness: Readiness, logs: Path) -> list[str]:
    """Start a service of that command, wait for it, end it; what was said."""
    said: list[str] = []
    supervisor = Supervisor(launcher_of(find_allocation("local", ["n0"])), logs, said.append)
    supervisor.stage = "services"
    step = Step(
        name="cache",
        kind="service",
        node="n0",
        command=Command(argv=argv),
        readiness=readiness,
        critical=False,
        log="service_cache.out",
    )
    try:
        running = await supervisor.start(step)
        await asyncio.wait_for(wait_for_service(supervisor, running, PLAN), 60)
    finally:
        await supervisor.stop()
    return said


def waits(code: str | tuple[str, ...], logs: Path, **readiness: Any) -> list[str]:
    """Wait for Python code, or for a command."""
    argv = (sys.executable, "-c", code) if isinstance(code, str) else code
    return asyncio.run(wait(argv, Readiness(interval_seconds=0.2, **readiness), logs))


SLOWLY = "import time; time.sleep(0.3); {}; time.sleep(60)"
HTTP = """
import http.server
class Answer(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_GET(self):
        Answer.count += 1
        self.send_response(503 if Answer.count < 3 else 204 if self.path == "/ready" else 200)
        self.end_headers()
        self.wfile.write(b'ALIVE ' * Answer.count if self.path == "/nodes" else b'')
http.server.HTTPServer(("127.0.0.1", {port}), Answer).serve_forever()
"""


def test_a_service_is_waited_for_until_its_port_accepts(tmp_path: Path) -> None:
    port = free_port()
    said = waits(SERVER.format(port=port), tmp_path, probes=(Probe(kind="tcp", port=port),))
    assert said == ["started cache on n0", "cache is ready"]


def test_or_its_url_answers_with_the_status_that_is_asked(tmp_path: Path) -> None:
    probe = Probe(kind="http", port=free_port(), path="/ready", status=204)
    assert waits(HTTP.format(port=probe.port), tmp_path, probes=(probe,))[-1] == "cache is ready"


def test_or_with_a_text_that_is_asked(tmp_path: Path) -> None:
    probe = Probe(kind="http", port=free_port(), path="/nodes", body="(ALIVE .*){5}")
    assert waits(HTTP.format(port=probe.port), tmp_path, probes=(probe,))[-1] == "cache is ready"


def test_or_a_line_of_its_log_matches(tmp_path: Path) -> None:
    code = SLOWLY.format("print('starting'); print('serving on 8080')")
    assert waits(code, tmp_path, log=r"^serving on \d+$")[-1] == "cache is ready"


def test_or_its_file_is_there_and_not_empty(tmp_path: Path) -> None:
    file = tmp_path / "ready"
    file.touch()
    code = SLOWLY.format(f"print('yes', file=open({str(file)!r}, 'w'), flush=True)")
    assert waits(code, tmp_path, file=str(file))[-1] == "cache is ready"


def test_everything_that_is_asked_must_hold(tmp_path: Path) -> None:
    port = free_port()
    with pytest.raises(NotReadyError, match="no line of its log matches 'up'"):
        waits(
            SERVER.format(port=port),
            tmp_path,
            probes=(Probe(kind="tcp", port=port),),
            log="up",
            timeout_seconds=1,
        )


@pytest.mark.parametrize(
    ("readiness", "missing"),
    [
        ({"probes": (Probe(kind="tcp", port=1),)}, "TCP port 1 of 127.0.0.1 does not accept"),
        ({"probes": (Probe(kind="http", port=1),)}, "http://127.0.0.1:1/health does not answer 200"),
        (
            {"probes": (Probe(kind="http", port=1, path="/n", body="A"),)},
            "http://127.0.0.1:1/n does not answer 200 with text that matches 'A'",
        ),
        ({"log": "up"}, "no line of its log matches 'up'"),
        ({"file": "/no/such"}, "there is no file /no/such, or it is empty"),
    ],
)
def test_one_that_is_late_is_told_with_what_is_missing(
    tmp_path: Path, readiness: dict[str, Any], missing: str
) -> None:
    with pytest.raises(NotReadyError) as caught:
        waits(("sh", "-c", "echo hm; exec sleep 60"), tmp_path, timeout_seconds=2, **readiness)
    failure = caught.value.failure
    log = f"{tmp_path.name}/service_cache.out"
    assert failure.message == f"service cache on n0 was not ready after 2 s: {missing}; its log is {log}"
    assert (failure.stage, failure.step, failure.log, failure.tail) == ("services", "cache", log, ("hm",))


def test_one_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(NotReadyError) as caught:
        waits("raise SystemExit(4)", tmp_path, log="up", timeout_seconds=3600)
    assert caught.value.failure.message == (
        "service cache on n0 exited with code 4 before it was ready: no line of its log matches 'up'"
    )
    assert caught.value.failure.exit_code == 4


def test_one_that_has_said_it_before_it_ended_was_ready(tmp_path: Path) -> None:
    assert "cache is ready" in waits("print('up')", tmp_path, log="^up$", timeout_seconds=3600)


def test_the_first_fatal_line_is_found(tmp_path: Path) -> None:
    log = tmp_path / "agg.out"
    log.write_bytes(b"loading\xff\n  RuntimeError: CUDA out of memory. Tried\nNCCL error\n")
    assert FatalLines(FATAL_MARKERS).first(log) == "RuntimeError: CUDA out of memory. Tried"
    assert FatalLines(["no such thing"]).first(log) is None


def test_an_own_pattern_counts_alone(tmp_path: Path) -> None:
    log = tmp_path / "agg.out"
    log.write_text("CUDA out of memory\nlicence expired\n")
    assert FatalLines(["licence (expired|missing)"]).first(log) == "licence expired"


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
