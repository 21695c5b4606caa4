"""What is told about a process that ended, and that an exit is never missed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from servesweep.plan.plan import Step
from servesweep.runtime.allocation import Allocation, find_allocation
from servesweep.runtime.failure import Failure, tail
from servesweep.runtime.launchers import launcher_of
from servesweep.runtime.supervisor import StartError, Supervisor
from servesweep.topology.deployment import Command, Probe


@pytest.fixture
def here() -> Allocation:
    return find_allocation("local", ["n0"])


def step(shell: str, **changes: Any) -> Step:
    fields: dict[str, Any] = {
        "name": "agg_0",
        "kind": "worker",
        "node": "n0",
        "command": Command(argv=("bash", "-c", shell)),
        "log": "{host}_agg_w0.out",
    }
    return Step(**(fields | changes))


async def first_failure(allocation: Allocation, logs: Path, *steps: Step) -> tuple[Failure, Supervisor]:
    supervisor = Supervisor(launcher_of(allocation), logs, lambda line: None)
    for one in steps:
        await supervisor.start(one)
    failure = await asyncio.wait_for(supervisor.failed, 30)
    await supervisor.stop()
    return failure, supervisor


@pytest.mark.parametrize(
    ("shell", "message", "exit_code", "name"),
    [
        ("exit 0", "worker agg_0 on n0 exited with code 0", 0, None),
        ("exit 7", "worker agg_0 on n0 exited with code 7", 7, None),
        ("exit 255", "worker agg_0 on n0 exited with code 255", 255, None),
        ("kill -9 $$", "worker agg_0 on n0 was ended by SIGKILL", None, "SIGKILL"),
        ("exit 143", "worker agg_0 on n0 was ended by SIGTERM", None, "SIGTERM"),
    ],
)
def test_every_exit_of_a_critical_worker_is_a_failure(
    here: Allocation, tmp_path: Path, shell: str, message: str, exit_code: int | None, name: str | None
) -> None:
    failure, _ = asyncio.run(first_failure(here, tmp_path / "logs", step(f"echo last words; {shell}")))
    assert (failure.message, failure.exit_code, failure.signal) == (message, exit_code, name)
    assert (failure.log, failure.tail) == ("logs/n0_agg_w0.out", ("last words",))


def test_the_first_exit_is_told_and_the_others_are_ended(
    here: Allocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("servesweep.runtime.supervisor.TERM_GRACE_SECONDS", 0.5)
    lasting = step("trap '' TERM; sleep 60 & wait", name="agg_1", log="1.out", critical=False)
    other = step("sleep 60", name="agg_2", log="2.out")
    failure, supervisor = asyncio.run(first_failure(here, tmp_path, lasting, other, step("exit 3")))
    assert failure.step == "agg_0"
    assert all(running.ended.done() for running in supervisor.running)


def test_a_program_that_is_missing_is_one_sentence(here: Allocation, tmp_path: Path) -> None:
    missing = step("", command=Command(argv=("no-such-engine",)))
    failure, _ = asyncio.run(first_failure(here, tmp_path, missing))
    assert failure.message == "worker agg_0 on n0 exited with code 127"
    assert "no-such-engine" in failure.tail[0]


def test_a_taken_port_starts_nothing(here: Allocation, tmp_path: Path) -> None:
    async def start() -> None:
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        supervisor = Supervisor(launcher_of(here), tmp_path, lambda line: None)
        with pytest.raises(StartError, match=f"another process already listens on port {port}"):
            await supervisor.start(step("sleep 60", probe=Probe(kind="http", port=port)))
        assert supervisor.running == []
        server.close()

    asyncio.run(start())


def test_the_tail_is_the_last_lines_whatever_the_bytes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 100_000 + b"\n" + b"\n".join(b"line %d" % n for n in range(60)) + b"\n\xff end\n")
    assert tail(log, 3) == ("line 58", "line 59", "� end")
    assert len(tail(log)) == 50
    assert tail(tmp_path / "none") == ()
