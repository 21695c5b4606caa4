"""A point loses its secrets when it is over, not when the run is; the gate tells none from the beginning."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from servesweep.cli import running
from servesweep.evidence.files import RunFiles
from servesweep.loadgen.record import RequestRecord
from servesweep.loadgen.request_log import request_log
from servesweep.runtime import blotted_points
from servesweep.runtime.blot import Blot
from servesweep.runtime.blotted_points import blot_points
from servesweep.runtime.health_gate import Gate
from servesweep.runtime.unhealthy import UnhealthyError

SECRET = "sk-abcdef0123"
HIDDEN = "***REDACTED***"
PLAN = cast(Any, SimpleNamespace(points=[SimpleNamespace(id="c1"), SimpleNamespace(id="c2")]))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFiles:
    monkeypatch.setattr(blotted_points, "POLL_SECONDS", 0.001)
    return RunFiles(tmp_path)


def write(path: Path, data: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return path


def while_blotting(files: RunFiles, *steps: Callable[[], bool]) -> None:
    """Have the points blotted out until each of the steps has become true, one after the other."""

    async def go() -> None:
        blotting = asyncio.create_task(blot_points(Blot([SECRET]), files, PLAN))
        async with asyncio.timeout(60):
            for step in steps:
                while not step():
                    await asyncio.sleep(0.001)
        blotting.cancel()

    asyncio.run(go())


def test_the_files_of_a_point_are_blotted_out_while_the_next_one_is_measured(files: RunFiles) -> None:
    about = write(files.point("c1") / "aiperf.json", {"api_key": SECRET})
    later = write(files.point("c2") / "aiperf.json", {"api_key": SECRET})
    bad = RequestRecord(0, sent=1.0, ended=2.0, asked_input=8, asked_output=2, status="HTTP 401")
    bad.detail = f"bad key {SECRET}"
    table = files.point("c1") / "invalid.requests.parquet"
    table.write_bytes(request_log([bad]))
    record = write(files.invalid("c1"), {"reasons": [f"bad key {SECRET}"], "requests": {"failed": 1}})

    def told() -> list[str]:
        # At once: the file may be replaced between two looks at it.
        return list(pq.read_table(io.BytesIO(table.read_bytes())).column("detail").to_pylist())

    while_blotting(files, lambda: told() == [f"bad key {HIDDEN}"])
    assert json.loads(record.read_text())["reasons"] == [f"bad key {HIDDEN}"]
    assert json.loads(about.read_text()) == {"api_key": HIDDEN}
    # Its client has it to read yet.
    assert json.loads(later.read_text()) == {"api_key": SECRET}


def test_a_record_that_is_written_again_is_blotted_out_again(files: RunFiles) -> None:
    record = write(files.result("c2"), {"notes": [SECRET]})

    def blotted() -> bool:
        return json.loads(record.read_text() or "{}") == {"notes": [HIDDEN]}

    def again() -> bool:
        new = write(record.with_name("new"), {"notes": [SECRET]})
        new.replace(record)
        return True

    while_blotting(files, blotted, again, blotted)


def test_a_table_of_good_requests_is_left_to_the_end_of_the_run(files: RunFiles) -> None:
    table = files.point("c1") / "requests.parquet"
    table.parent.mkdir(parents=True)
    table.write_bytes(content := SECRET.encode())
    record = write(files.result("c1"), {"notes": [SECRET], "requests": {"failed": 0}})
    while_blotting(files, lambda: SECRET not in record.read_text())
    assert table.read_bytes() == content


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], tuple[int, str]]:
    """Have the command meet a gate that ends so; its exit code and what it prints."""
    monkeypatch.setenv("SERVESWEEP_SECRET_0", SECRET)
    plan = SimpleNamespace(configuration="demo", served_model="tiny")
    monkeypatch.setattr(
        running, "running_deployment", lambda files: (plan, SimpleNamespace(hosts=[], past_the_proxy=dict))
    )
    monkeypatch.setattr(Gate, "__post_init__", lambda gate: None)

    def make(end: Any) -> tuple[int, str]:
        async def passed(gate: Gate) -> Any:
            gate.say(f"agg_0 is ready: {SECRET}")
            if isinstance(end, Exception):
                raise end
            return end

        monkeypatch.setattr(Gate, "open", passed)
        done = CliRunner().invoke(running.health_gate, [str(tmp_path)])
        return done.exit_code, done.output

    return make


def test_what_keeps_the_gate_shut_is_written_without_a_secret(gate: Any, tmp_path: Path) -> None:
    code, told = gate(UnhealthyError(f"HTTP 401: bad key {SECRET}", step="agg_0"))
    assert json.loads(RunFiles(tmp_path).unhealthy.read_text()) == {
        "schema": 1, "message": f"HTTP 401: bad key {HIDDEN}", "step": "agg_0",
    }  # fmt: skip
    assert (code, told) == (1, f"agg_0 is ready: {HIDDEN}\nHTTP 401: bad key {HIDDEN}\n")


def test_what_opens_the_gate_is_written_without_a_secret(gate: Any, tmp_path: Path) -> None:
    assert gate({"models": ["tiny", SECRET]})[0] == 0
    assert json.loads(RunFiles(tmp_path).health.read_text())["models"] == ["tiny", HIDDEN]


def test_a_run_without_secrets_looks_for_nothing(files: RunFiles) -> None:
    asyncio.run(asyncio.wait_for(blot_points(Blot([]), files, PLAN), 60))
